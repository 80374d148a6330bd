// A plan made for a few of a model's equal layers, with the others put back, is the plan of the whole model:
// instruction for instruction, buffer for buffer, on the CPU and on the GPU.
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "napkin/cpu/plan.hpp"
#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/accumulate.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/merge_products.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/passes/quantize.hpp"
#include "napkin/passes/recompute_choice.hpp"
#include "napkin/passes/repeat_scales.hpp"
#include "napkin/passes/take_copies.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/train/generate.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
using nk::planning::location;
using nk::planning::plan_options;

namespace {

template <std::size_t Layers, std::size_t Hidden = 4, std::size_t Ffn = 20>
struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 16> {};
  struct embed : nk::dim<"embed", 3 * Hidden> {};
  struct ffn : nk::dim<"ffn", Ffn> {};
  struct heads : nk::dim<"heads", 3> {};
  struct kv_heads : nk::dim<"kv_heads", 3> {};
  struct group : nk::dim<"group", 1> {};
  struct hidden : nk::dim<"hidden", Hidden> {};
  static constexpr std::size_t layers = Layers;
};

enum class outputs { loss, gradients, sums };  // sums: gradients, added to what lies there

/// Of a step in 16 bits on a device, whose parameters have copies: so many inputs of it are no copies.
std::size_t inputs_before_copies(const nk::graph_view& loss, std::size_t parameters, outputs with) {
  return static_cast<std::size_t>(loss.next_slot()) + (with == outputs::sums ? parameters : 0);
}

/// What a model is computed in. 8 bits: products with parameters, which have gradients; the rest in bf16.
enum class computed_in { f32, bf16, f8 };

nk::graph loss_of(const nk::graph_view& loss, std::size_t parameters, computed_in in) {
  if (in == computed_in::f32) return nk::passes::same_graph(loss);
  nk::graph narrow = nk::passes::compute_narrow(loss, nk::dtype::bf16);
  if (in == computed_in::bf16) return narrow;
  return nk::passes::mark_quantized(static_cast<nk::graph&&>(narrow), parameters);
}
nk::graph gradients_of(const nk::graph_view& loss, std::size_t parameters, computed_in in, outputs with) {
  std::vector<std::int32_t> wanted(parameters);
  std::iota(wanted.begin(), wanted.end(), 0);
  nk::graph both = nk::passes::differentiate(loss, {wanted.data(), wanted.size()});
  if (in == computed_in::bf16) both = nk::passes::keep_narrow(both.view(), loss.size(), nk::dtype::bf16);
  if (in == computed_in::f8) both = nk::passes::quantize_products(both.view(), loss.size(), nk::dtype::bf16);
  if (with == outputs::sums) return nk::passes::accumulate(both.view(), 1, parameters);
  return both;
}

template <class Target>
nk::planning::plan<typename Target::product> plan_of_graph(const nk::graph_view& g, plan_options options) {
  return nk::testing::planned_unsettled<Target>(nk::testing::lowered<Target>(g, options, true).view(),
                                                options);
}

/// With buffers numbered as they are first named.
template <class Product>
nk::planning::plan<Product> numbered(const nk::planning::plan<Product>& p) {
  const nk::planning::detail::places at(view_of(p));
  nk::planning::detail::plan_writer writer(at, {}, {});
  writer.write(p.counts());
  REQUIRE(writer.is_complete());
  return writer.made;
}

bool same(const location& a, const location& b) { return a.where == b.where && a.at == b.at; }

template <class T, class Same>
void check_all(const char* what, const nk::buffer<T>& a, const nk::buffer<T>& b, Same same) {
  INFO(what);
  REQUIRE(a.size() == b.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different += !same(a[i], b[i]);
  CHECK(different == 0);
}

template <class Product>
void check_equal(const nk::planning::plan<Product>& a, const nk::planning::plan<Product>& b) {
  using namespace nk::planning;
  const auto equal = [](const auto& x, const auto& y) { return x == y; };
  check_all("programs", a.programs, b.programs, [](const program_record& x, const program_record& y) {
    return x.first_step == y.first_step && x.steps == y.steps && x.across_rows == y.across_rows;
  });
  check_all("steps", a.steps, b.steps, equal);
  check_all("sizes", a.sizes, b.sizes, equal);
  check_all("strides", a.strides, b.strides, equal);
  check_all("slots", a.slots, b.slots, equal);
  check_all("constants", a.constants, b.constants, equal);
  check_all("instructions", a.instructions, b.instructions, [](const instruction& x, const instruction& y) {
    return x.kind == y.kind && x.index == y.index && x.origin == y.origin &&
           x.first_output == y.first_output && x.epilogue == y.epilogue && (x.product < 0) == (y.product < 0);
  });
  check_all("kernels", a.kernels, b.kernels, [](const kernel_record& x, const kernel_record& y) {
    return x.program == y.program && x.first_size == y.first_size && x.outer_rank == y.outer_rank &&
           x.inner_rank == y.inner_rank && x.first_access == y.first_access && x.accesses == y.accesses &&
           x.first_constant == y.first_constant && x.first_slot == y.first_slot && x.slots == y.slots &&
           x.first_column == y.first_column && x.columns == y.columns && x.row_length == y.row_length &&
           x.chunk == y.chunk && x.chunks == y.chunks && x.walks == y.walks &&
           x.walks_per_block == y.walks_per_block && x.blocks == y.blocks && x.members == y.members &&
           x.like == y.like;
  });
  check_all("accesses", a.accesses, b.accesses, [](const access_record& x, const access_record& y) {
    return same(x.base, y.base) && x.offset == y.offset && x.first_stride == y.first_stride &&
           x.written == y.written;
  });
  check_all("columns", a.columns, b.columns, [](const column_record& x, const column_record& y) {
    return x.kind == y.kind && x.type == y.type && x.begin == y.begin && same(x.to, y.to) &&
           x.adds == y.adds && same(x.added, y.added);
  });
  check_all("contractions", a.contractions, b.contractions,
            [](const contraction_record& x, const contraction_record& y) {
              bool others = x.follows == y.follows && x.members == y.members;
              for (std::size_t o = 0; o < epilogue_operands; ++o)
                others = others && x.others[o].bytes == y.others[o].bytes &&
                         x.others[o].written == y.others[o].written && same(x.others[o].at, y.others[o].at);
              return others && x.product == y.product && same(x.a, y.a) && same(x.b, y.b) && same(x.c, y.c) &&
                     x.a_offset == y.a_offset && x.b_offset == y.b_offset;
            });
  check_all("attentions", a.attentions, b.attentions,
            [](const attention_record& x, const attention_record& y) {
              bool operands = x.same_work(y);
              for (std::size_t o = 0; o < nk::passes::attention_tensors; ++o)
                operands = operands && same(x.operands[o].at, y.operands[o].at) &&
                           x.operands[o].written == y.operands[o].written;
              return operands;
            });
  check_all("movements", a.movements, b.movements, [](const movement_record& x, const movement_record& y) {
    return x.kind == y.kind && same(x.from, y.from) && same(x.to, y.to) && same(x.index, y.index) &&
           x.from_shape == y.from_shape && x.to_shape == y.to_shape && x.start == y.start;
  });
  check_all("lives", a.lives, b.lives, [](const nk::passes::lifetime& x, const nk::passes::lifetime& y) {
    return x.bytes == y.bytes && x.first == y.first && x.last == y.last;
  });
  check_all("workspaces", a.workspaces, b.workspaces,
            [](const workspace_record& x, const workspace_record& y) {
              return x.life == y.life && x.kernel == y.kernel && x.contraction == y.contraction &&
                     x.scratch == y.scratch;
            });
}

/// As the trainer's: of a 16-bit float on a device.
template <class Target>
bool has_copies(computed_in in, outputs with) {
  return with != outputs::loss && in == computed_in::bf16 && std::is_same_v<Target, nk::on_cuda::target>;
}

/// A loss as the trainer has it: on a device, some of its parameters are stored as one.
struct rewritten_loss {
  nk::graph loss;
  nk::buffer<nk::passes::stored_parameter> stored;  // on a device
  std::size_t parameters = 0;                       // or tensors
};
template <class Target>
rewritten_loss rewrite(const nk::graph& loss, std::size_t parameters, nk::passes::repetition layers,
                       computed_in in) {
  rewritten_loss made{loss_of(loss.view(), parameters, in), {}, parameters};
  if (!std::is_same_v<Target, nk::on_cuda::target>) return made;
  const nk::passes::storing_rule rule{static_cast<std::int32_t>(parameters), layers};
  made.stored = nk::passes::stored_parameters_of(made.loss.view(), rule);
  made.parameters = nk::passes::count_tensors(made.stored);
  const nk::graph merged = nk::passes::merge_products(made.loss.view(), rule);
  made.loss = nk::passes::find_attention(merged.view(), nk::on_cuda::attention_fits{});
  return made;
}

/// What a few layers say of all is what all say, and some parameters are stored as one.
void check_stored(const rewritten_loss& few, const nk::passes::left_out& cut, const rewritten_loss& whole) {
  CHECK(whole.parameters < whole.stored.size());
  const auto found = nk::passes::with_layers_left_out(few.stored, cut, whole.stored.size());
  check_all("stored", found, whole.stored, [](const auto& x, const auto& y) { return x == y; });
}

/// A graph of a few of the layers, what it lacks, and the whole.
struct shortened {
  nk::graph few, whole;
  std::size_t parameters = 0;  // of the few
  nk::passes::left_out cut;    // copies 0: it is not to be shortened
};
template <class Target>
shortened shorten(const nk::graph& whole, std::size_t parameters, outputs with, std::int32_t kept,
                  computed_in in) {
  nk::passes::repetition found = nk::passes::find_repetition(whole.view(), parameters);
  const std::int32_t copies = found.count - kept;
  if (copies <= 0) return {};
  const nk::graph few = nk::passes::leave_out(whole.view(), found, copies);
  if (few.nodes.size() == 0) return {};
  REQUIRE(nk::passes::verify(few.view()).sentence == "");
  const bool with_gradients = with != outputs::loss, takes_copies = has_copies<Target>(in, with);
  const auto made_of = [&](const rewritten_loss& of) {
    if (!with_gradients) return nk::passes::same_graph(of.loss.view());
    nk::graph gradients = gradients_of(of.loss.view(), of.parameters, in, with);
    if (!takes_copies) return gradients;
    const auto first = static_cast<std::int32_t>(inputs_before_copies(of.loss.view(), of.parameters, with));
    return nk::passes::take_copies(gradients.view(), of.parameters, nk::dtype::bf16, first);
  };
  shortened made;
  nk::passes::left_out& cut = made.cut;
  cut = nk::passes::cut_of(found, copies);
  const rewritten_loss of_whole = rewrite<Target>(whole, parameters, found, in);
  found.count = kept;
  const auto few_parameters = parameters - static_cast<std::size_t>(copies * found.parameters);
  const rewritten_loss of_few = rewrite<Target>(few, few_parameters, found, in);
  if (of_few.stored.size() > 0) {
    cut.inputs[0] = nk::passes::layered_tensors_of(of_few.stored, cut.origins[0]);
    check_stored(of_few, cut, of_whole);
  }
  made.few = made_of(of_few), made.whole = made_of(of_whole);
  made.parameters = of_few.parameters;
  if (with_gradients) cut = nk::passes::with_gradients(cut);
  const std::size_t scales = with_gradients ? made.few.outputs.size() - 1 - made.parameters : 0;
  const std::int32_t inputs = of_few.loss.view().next_slot();
  if (in == computed_in::f8) {
    cut = nk::passes::with_scales(cut, made.few.view(), inputs, made.parameters);
    if (cut.copies == 0) return {};
    check_all("rows", nk::passes::elements_in_whole(made.few.view(), cut, 1 + made.parameters),
              nk::passes::elements_in_whole(made.whole.view(), {}, 1 + of_whole.parameters),
              [](std::size_t x, std::size_t y) { return x == y; });
  }
  if (with == outputs::sums)
    cut = nk::passes::with_one_each(cut, static_cast<std::size_t>(inputs) + 2 * scales);
  if (takes_copies)
    cut = nk::passes::with_one_each(cut, inputs_before_copies(of_few.loss.view(), made.parameters, with));
  return made;
}

/// Whether the plan's layers are repeated; if so, that the plan is the whole's.
template <class Product>
bool check_plans(const nk::planning::plan<Product>& few, const nk::passes::left_out& cut,
                 const nk::planning::plan<Product>& whole) {
  const nk::planning::plan_runs runs = nk::planning::find_runs(view_of(few), cut);
  if (!runs.found) return false;
  const nk::planning::plan_sizes sizes = nk::planning::sizes_repeated(view_of(few), cut, runs);
  const auto repeated = nk::planning::repeat_runs(view_of(few), cut, runs, sizes);
  if (repeated.instructions.empty()) return false;
  check_equal(repeated, numbered(whole));
  CHECK(sizes.instructions == repeated.instructions.size());
  CHECK(sizes.kernels == repeated.kernels.size());
  CHECK(sizes.accesses == repeated.accesses.size());
  CHECK(sizes.columns == repeated.columns.size());
  CHECK(sizes.contractions == repeated.contractions.size());
  CHECK(sizes.movements == repeated.movements.size());
  CHECK(sizes.lives == repeated.lives.size());
  CHECK(sizes.workspaces == repeated.workspaces.size());
  CHECK(sizes.attentions == repeated.attentions.size());
  return true;
}

template <class Target = nk::on_cpu::target>
bool check_repeated(const nk::graph& whole, std::size_t parameters, outputs with,
                    std::int32_t kept = nk::planning::detail::few_layers, plan_options options = {},
                    computed_in in = computed_in::f32) {
  const shortened made = shorten<Target>(whole, parameters, with, kept, in);
  if (made.cut.copies == 0 || made.cut.nodes < options.fuse.reach) return false;
  const auto of_whole = plan_of_graph<Target>(made.whole.view(), options);
  if (std::is_same_v<Target, nk::on_cuda::target> && with != outputs::loss)
    CHECK(!of_whole.attentions.empty());
  return check_plans(plan_of_graph<Target>(made.few.view(), options), made.cut, of_whole);
}

template <class Model>
void check_model() {
  const std::size_t parameters = nk::model_graph<Model>::parameters;
  for (const outputs with : {outputs::loss, outputs::gradients, outputs::sums})
    CHECK(check_repeated(nk::model_graph<Model>::make(), parameters, with));
  CHECK(check_repeated(nk::model_graph<Model>::make(), parameters, outputs::gradients,
                       nk::planning::detail::few_layers, {}, computed_in::bf16));
  CHECK(check_repeated(nk::model_function_graph<Model, &Model::logits>::make(), parameters, outputs::loss));
}

}  // namespace

TEST_CASE("the plan of many equal layers is that of a few, repeated") {
  check_model<nk::nn::llama<config<4>>>();  // one is put back
  check_model<nk::nn::llama<config<5>>>();
  check_model<nk::nn::llama<config<8>>>();
  check_model<nk::nn::gpt<config<4>>>();
  check_model<nk::nn::gpt<config<5>>>();
  check_model<nk::nn::gpt<config<12>>>();
}

namespace {
template <class Model>
void check_on_device(computed_in in) {
  const nk::graph whole = nk::model_graph<Model>::make();
  for (const outputs with : {outputs::loss, outputs::gradients, outputs::sums})
    CHECK(check_repeated<nk::on_cuda::target>(whole, nk::model_graph<Model>::parameters, with,
                                              nk::planning::detail::few_layers, {}, in));
}
}  // namespace

TEST_CASE("so it is on a device, epilogues and attentions among it") {
  for (const computed_in in : {computed_in::f32, computed_in::bf16}) {
    check_on_device<nk::nn::gpt<config<4, 16>>>(in);
    check_on_device<nk::nn::gpt<config<7, 16>>>(in);
    check_on_device<nk::nn::llama<config<6, 16>>>(in);
  }
}

namespace {
template <class Target, class Model>
void check_in_8_bits() {
  const nk::graph whole = nk::model_graph<Model>::make();
  for (const outputs with : {outputs::gradients, outputs::sums})
    CHECK(check_repeated<Target>(whole, nk::model_graph<Model>::parameters, with,
                                 nk::planning::detail::few_layers, {}, computed_in::f8));
}
}  // namespace

TEMPLATE_TEST_CASE("so it is in 8 bits, scales and largest magnitudes among it", "", nk::on_cpu::target,
                   nk::on_cuda::target) {
  check_in_8_bits<TestType, nk::nn::gpt<config<5, 16>>>();  // one is put back
  check_in_8_bits<TestType, nk::nn::gpt<config<12, 16>>>();
  check_in_8_bits<TestType, nk::nn::gpt<config<6, 16, 32>>>();  // all products by cuBLASLt, of 8 bits
  check_in_8_bits<TestType, nk::nn::llama<config<5, 16, 32>>>();
  check_in_8_bits<TestType, nk::nn::llama<config<9, 16>>>();
}

namespace {
/// A plan for each choice of what a gradient's graph makes again.
template <class Target>
auto plans_of_choices(const nk::graph& g, std::size_t parameters, std::int32_t left_out,
                      std::int32_t first_copy = -1) {
  const nk::graph lowered = nk::testing::lowered<Target>(g.view(), {}, true);
  const nk::passes::step_halves halves =
      nk::passes::halves_of(lowered.view(), nk::passes::fuse(lowered.view()));
  std::vector<nk::planning::plan<typename Target::product>> plans;
  for (const auto& c :
       nk::passes::recompute_choices(lowered.view(), halves, parameters, left_out, 64, first_copy))
    plans.push_back(nk::testing::planned_unsettled<Target>(
        nk::passes::recompute(lowered.view(), halves, c.again).view(), {}));
  return plans;
}
}  // namespace

TEST_CASE("so it is where values are made again, whichever are") {
  using model = nk::nn::gpt<config<7, 16>>;
  using target = nk::on_cpu::target;
  constexpr std::size_t parameters = nk::model_graph<model>::parameters;
  for (const computed_in in : {computed_in::bf16, computed_in::f8}) {
    const shortened made = shorten<target>(nk::model_graph<model>::make(), parameters, outputs::gradients,
                                           nk::planning::detail::one_more_layer, in);
    REQUIRE(made.cut.copies > 0);
    const auto few = plans_of_choices<target>(made.few, made.parameters, made.cut.copies),
               whole = plans_of_choices<target>(made.whole, parameters, 0);
    REQUIRE(few.size() == whole.size());
    CHECK(few.size() > 10);
    for (std::size_t k = 0; k < few.size(); ++k) CHECK(check_plans(few[k], made.cut, whole[k]));
  }
}

TEST_CASE("on a device too layers are repeated where values are made again, whose parameters have copies") {
  using model = nk::nn::gpt<config<7, 16>>;
  using target = nk::on_cuda::target;
  const nk::graph loss = nk::model_graph<model>::make();
  const shortened made = shorten<target>(loss, nk::model_graph<model>::parameters, outputs::gradients,
                                         nk::planning::detail::one_more_layer, computed_in::bf16);
  REQUIRE(made.cut.copies > 0);
  const auto few = plans_of_choices<target>(made.few, made.parameters, made.cut.copies,
                                            made.cut.inputs.back().first - made.cut.inputs[0].first);
  CHECK(few.size() > 10);
  for (const auto& plan : few) {
    const nk::planning::plan_runs runs = nk::planning::find_runs(view_of(plan), made.cut);
    REQUIRE(runs.found);
    const nk::planning::plan_sizes sizes = nk::planning::sizes_repeated(view_of(plan), made.cut, runs);
    CHECK(!nk::planning::repeat_runs(view_of(plan), made.cut, runs, sizes).instructions.empty());
  }
}

/// What all layers of a chain share: a gain, a weight that they multiply too.
enum class shares { nothing, gain, weight };

/// x = tanh(x W) for each of the weights, times what all layers share; the loss is the sum.
/// `slot_of_all`: that one's among the parameters, before or behind the weights.
nk::graph chain(const std::vector<std::size_t>& sizes, shares what = shares::nothing, int slot_of_all = -1) {
  nk::builder b;
  b.simplify = true;
  const int layers = static_cast<int>(sizes.size()) - 1, parameters = layers + (slot_of_all >= 0);
  std::vector<std::int32_t> weights;
  std::int32_t factor = -1;
  for (int slot = 0, l = 0; slot < parameters; ++slot) {
    if (slot == slot_of_all) {
      factor = b.input(slot, nk::dtype::f32, {what == shares::gain ? 3 : sizes[0], sizes[0]});
      continue;
    }
    const auto at = static_cast<std::size_t>(l++);
    weights.push_back(b.input(slot, nk::dtype::f32, {sizes[at], sizes[at + 1]}));
  }
  std::int32_t x = b.input(parameters, nk::dtype::f32, {3, sizes[0]});
  const auto product = [&b](std::int32_t by, std::int32_t of) {
    const std::int32_t xs[] = {by, of}, labels[] = {0, 1, 1, 2}, to[] = {0, 2};
    return b.einsum(xs, labels, to);
  };
  for (const std::int32_t w : weights) {
    b.origin = w;
    x = b.unary(nk::op::tanh, product(x, w));
    if (factor >= 0) x = what == shares::gain ? b.mul(x, factor) : product(x, factor);
  }
  const std::int32_t all[] = {0, 1};
  b.output(b.reduce(nk::op::sum, x, all));
  return b.take();
}

TEST_CASE("layers that are not alike are no repetition") {
  CHECK(nk::passes::find_repetition(chain({4, 5, 6, 7, 8, 9, 10, 11}).view(), 7).count == 0);
}

TEST_CASE("a parameter that all layers share is repeated rightly or not at all") {
  const std::vector<std::size_t> sizes(11, 4);
  const std::int32_t some = nk::planning::detail::some_layers;
  plan_options options;
  options.fuse.reach = 2;  // less than these layers
  CHECK(check_repeated(chain(sizes), 10, outputs::gradients, some, options));
  CHECK(check_repeated(chain(sizes), 10, outputs::gradients, some, options, computed_in::f8));
  for (const outputs with : {outputs::loss, outputs::gradients, outputs::sums})
    for (const shares what : {shares::gain, shares::weight})
      for (const int slot : {0, 10}) {
        INFO((what == shares::gain ? "gain" : "weight") << " in slot " << slot);
        const nk::graph graph = chain(sizes, what, slot);
        const bool repeated = check_repeated(graph, 11, with, some, options);
        CHECK((repeated || with != outputs::loss));  // its gradient sums over the layers
        if (with != outputs::loss) (void)check_repeated(graph, 11, with, some, options, computed_in::f8);
      }
}
