// Attention as it is lowered to a GPU: one operation forward, two backward, one of few keys, no tensor of scores in
// the plan; and the decision not to, where it is made, as a constant.
#include "napkin/cost/conventions.hpp"
#include "napkin/cuda/cost.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/einsum.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"

namespace nk = napkin;

namespace {

template <std::size_t Hidden, std::size_t Layers = 1>
struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 128> {};
  struct vocab : nk::dim<"vocab", 40> {};
  struct embed : nk::dim<"embed", 32> {};
  struct ffn : nk::dim<"ffn", 48> {};
  struct heads : nk::dim<"heads", 4> {};
  struct kv_heads : nk::dim<"kv_heads", 2> {};
  struct group : nk::dim<"group", 2> {};
  struct hidden : nk::dim<"hidden", Hidden> {};
  static constexpr std::size_t layers = Layers;
};

using on_gpu = nk::train_step<nk::nn::llama<config<16>>, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>;
using on_cpu = nk::train_step<nk::nn::llama<config<16>>, nk::adamw, nk::compute_in<nk::bf16>>;
using on_cpu_in_f32 = nk::train_step<nk::nn::llama<config<16>>, nk::adamw>;
using deep = nk::train_step<nk::nn::llama<config<16, 4>>, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>;

template <class Step>
constexpr int count(nk::passes::unit_kind kind) {
  const auto plan = Step::gradient_plan::view();
  int n = 0;
  for (std::size_t i = 0; i < plan.count.instructions; ++i) n += plan.instructions[i].kind == kind;
  return n;
}
/// The largest tensor in the arena, in bytes.
template <class Step>
constexpr std::size_t find_largest() {
  const auto plan = Step::gradient_plan::view();
  std::size_t most = 0;
  for (std::size_t i = 0; i < plan.count.lives; ++i) {
    bool is_workspace = false;
    for (std::size_t w = 0; w < plan.count.workspaces; ++w)
      is_workspace = is_workspace || static_cast<std::size_t>(plan.workspaces[w].life) == i;
    if (!is_workspace && plan.lives[i].bytes > most) most = plan.lives[i].bytes;
  }
  return most;
}

constexpr auto attention = nk::passes::unit_kind::attention;
static_assert(on_gpu::attention == nk::passes::attention_choice{1, 0, nk::passes::attention_fit::fits});
static_assert(on_cpu::attention == on_gpu::attention && on_cpu_in_f32::attention == on_gpu::attention);
static_assert(deep::attention == nk::passes::attention_choice{4, 0, nk::passes::attention_fit::fits});
// A layer's forward pass, its queries' adjoints, those of its keys and values; on the CPU in f32 all of these at
// once.
static_assert(count<on_gpu>(attention) == 3 && count<deep>(attention) == 3 * 4);
static_assert(count<on_cpu>(attention) == 3 && count<on_cpu_in_f32>(attention) == 2);

// Expressions and gradients on the CPU likewise; of heads that are too wide scores, their softmax and what it
// weighs.
template <class T, std::size_t Hidden>
using heads_of = nk::tensor<T, typename config<Hidden>::batch, typename config<Hidden>::seq,
                            typename config<Hidden>::kv_heads, typename config<Hidden>::hidden>;
inline constexpr auto attend = [](auto q, auto k, auto v) {
  return nk::causal_attention<"seq", "hidden">(q, k, v);
};
inline constexpr auto attended_sum = [](auto q, auto k, auto v) {
  return nk::sum(nk::sin(nk::causal_attention<"seq", "hidden">(q, k, v)));
};
template <class T, std::size_t Hidden>
using attention_of =
    decltype(attend(std::declval<heads_of<T, Hidden>&>(), std::declval<heads_of<T, Hidden>&>(),
                    std::declval<heads_of<T, Hidden>&>()));
static_assert(nk::cost<attention_of<nk::f32, 16>>.launches == 1 &&
              nk::cost<attention_of<nk::bf16, 16>>.launches == 1 &&
              nk::cost<attention_of<nk::f64, 256>>.launches == 1);
static_assert(nk::cost<attention_of<nk::f32, 257>>.launches == 3);
using adjoints = nk::gradient_of<decltype(nk::grad<0, 1, 2>(attended_sum)), heads_of<nk::f32, 16>,
                                 heads_of<nk::f32, 16>, heads_of<nk::f32, 16>>;
static_assert(nk::plan_of<adjoints>.launches == nk::cost<adjoints>.launches);
// Forward, the output's adjoint with what is subtracted of each query's, all adjoints.
static_assert(nk::cost<adjoints>.launches == 3);
// Where that adjoint is a constant it is stored once for all that read it.
inline constexpr auto attended_total = [](auto q, auto k, auto v) { return nk::sum(attend(q, k, v)); };
using adjoints_of_total = nk::gradient_of<decltype(nk::grad<0, 1, 2>(attended_total)), heads_of<nk::f32, 16>,
                                          heads_of<nk::f32, 16>, heads_of<nk::f32, 16>>;
static_assert(nk::cost<adjoints_of_total>.launches == 4);

// Scores would be the largest tensors here: 2 x 4 heads of 128 x 128. Of heads that are too wide they are.
using in_products = nk::train_step<nk::nn::llama<config<258>>, nk::adamw, nk::compute_in<nk::bf16>>;
constexpr std::size_t scores = 2 * 4 * 128 * 128 * 2;
static_assert(find_largest<on_gpu>() < scores && find_largest<on_cpu>() < scores);
static_assert(find_largest<on_cpu_in_f32>() < 2 * scores);
static_assert(in_products::attention ==
              nk::passes::attention_choice{0, 1, nk::passes::attention_fit::products_are_faster});
static_assert(count<in_products>(attention) == 0);

// Equal layers are planned once, and the plan repeated is the whole graph's.
using whole = nk::planning::whole_plan<nk::on_cuda::target, deep::gradients, nk::planning::plan_options{}>;
static_assert(deep::gradient_plan::graph().size() < whole::graph().size());
static_assert(whole::settled::value.peak == deep::gradient_plan::value.peak &&
              whole::settled::value.attentions.size() == deep::gradient_plan::value.attentions.size());

// Values made again for a budget may be attention's: outputs, or their sums.
struct twice : nk::train_step<nk::nn::llama<config<16, 2>>, nk::adamw, nk::cuda> {
  static constexpr int choices = gradient_plan::choices().count;
};
struct again {  // the choice that keeps least
  using gradient_plan =
      nk::plan_for<nk::cuda, nk::planning::recomputing<twice::gradients, twice::choices>>::type;
};
static_assert(count<twice>(attention) == 3 * 2 && count<again>(attention) == (3 + 2) * 2);

// What others count does not depend on how it is lowered.
static_assert(nk::conventions::torch<on_gpu> == nk::conventions::torch<on_cpu>);
static_assert(nk::conventions::exact<on_gpu> == nk::conventions::exact<on_cpu>);

// Heads as wide as they like.
using wide = nk::train_step<nk::nn::llama<config<160>>, nk::adamw, nk::cuda>;
static_assert(wide::attention == on_gpu::attention);
static_assert(count<wide>(attention) == 3);

// ---- an expression: q, k and v once, the output once; no sums
struct batch : nk::dim<"batch", 3> {};
struct seq : nk::dim<"seq", 100> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 64> {};
using x = nk::tensor<nk::f32, batch, seq, heads, hidden>;
using attended = decltype(nk::causal_attention<"seq", "hidden">(x{}, x{}, x{}));
constexpr std::uint64_t elements = 3 * 100 * 2 * 64, pairs = 3 * 2 * (100 * 101 / 2);
static_assert(nk::plan_of<attended, nk::cuda>.launches == 1);
static_assert(nk::plan_of<attended, nk::cuda>.instructions[0].kind == attention);
static_assert(nk::cost<attended, nk::cuda>.bytes == nk::byte_counts{3 * elements * 4, elements * 4});
static_assert(nk::cost<attended, nk::cuda>.flops.matmul == 2 * pairs * (64 + 64));
static_assert(nk::cost<attended, nk::cuda>.flops.transcendental == pairs);
static_assert(nk::conventions::torch<attended>.forward == 4ull * 3 * 2 * 100 * 100 * 64);

// ---- all adjoints, of up to 64 keys in one kernel, which is given no sums of the output times its adjoint
struct of_64 : nk::dim<"seq", 64> {};
struct of_65 : nk::dim<"seq", 65> {};
template <class T, class Positions>
using positions_of = nk::tensor<T, batch, Positions, heads, hidden>;
template <class T, class Positions, std::size_t... Which>
using adjoints_wanted =
    nk::gradient_of<decltype(nk::grad<Which...>(attended_sum)), positions_of<T, Positions>,
                    positions_of<T, Positions>, positions_of<T, Positions>>;
template <class T, class Positions>
using all_adjoints = adjoints_wanted<T, Positions, 0, 1, 2>;
constexpr std::uint64_t short_elements = 3 * 64 * 2 * 64, short_rows = 3 * 2 * 64,
                        short_pairs = 3 * 2 * (64 * 65 / 2);
template <class T, class Positions>
constexpr std::uint64_t launches = nk::plan_of<all_adjoints<T, Positions>, nk::cuda>.launches;
static_assert(launches<nk::f32, of_64> == 3 && launches<nk::f32, of_65> == 4);
static_assert(launches<nk::bf16, of_64> == 3);
// Of queries alone, or keys and values alone, their own kernel has more blocks; scores are taken as often.
template <std::size_t... Which>
constexpr nk::cost_sheet some = nk::cost<adjoints_wanted<nk::f32, of_64, Which...>, nk::cuda>;
static_assert(some<0>.launches == 3 && some<1, 2>.launches == 3 && some<0, 2>.launches == 3);
// Forward two products; scores and their weights' adjoints once, and one for each that is wanted.
constexpr std::uint64_t short_product = 2 * short_pairs * 64;
static_assert(some<0>.flops.matmul == (2 + 3) * short_product &&
              some<0, 2>.flops.matmul == (2 + 4) * short_product &&
              some<0, 1, 2>.flops.matmul == (2 + 5) * short_product);
static_assert(nk::cost<all_adjoints<nk::f32, of_64>, nk::cuda>.launches == 3);
constexpr auto& in_one = nk::plan_of<all_adjoints<nk::f32, of_64>, nk::cuda>.instructions[2];
static_assert(in_one.kind == attention);
// q, k, v, the output's adjoint and the logarithms of sums; the adjoints.
static_assert(in_one.bytes == nk::byte_counts{(4 * short_elements + short_rows) * 4, 3 * short_elements * 4});
// Scores and their weights' adjoints once; the adjoints of q, k and v.
static_assert(in_one.flops.matmul == 5 * short_product);
static_assert(in_one.flops.transcendental == short_pairs);
static_assert(in_one.flops.reduce == 2 * (short_pairs - short_rows));
// To scale, subtract the sum, weigh the adjoint, subtract the delta, multiply; to divide; to scale q's and k's.
static_assert(in_one.flops.elementwise == 5 * short_pairs + short_rows + 2 * short_elements);

// One kernel whatever the width, or dtype. Of a result more than 256 wide its parts take the scores each.
struct broad : nk::dim<"hidden", 600> {};
template <class T, class Hidden>
using kept = nk::tensor<T, batch, seq, heads, Hidden>;
template <class T, class Hidden>
using attended_by =
    decltype(nk::causal_attention<"seq", "hidden">(kept<T, Hidden>{}, kept<T, Hidden>{}, kept<T, Hidden>{}));
static_assert(nk::plan_of<attended_by<nk::bf16, broad>, nk::cuda>.launches == 1);
static_assert(nk::cost<attended_by<nk::bf16, broad>, nk::cuda>.flops.matmul == 2 * pairs * (3 * 600 + 600));
static_assert(nk::cost<attended_by<nk::bf16, broad>, nk::cuda>.flops.transcendental == 3 * pairs);
static_assert(nk::plan_of<attended_by<nk::f64, hidden>, nk::cuda>.launches == 1);
static_assert(nk::cost<attended_by<nk::f64, hidden>, nk::cuda>.flops == nk::cost<attended, nk::cuda>.flops);

// ---- masks, as a model writes them: read as they lie, before they are broadcast
struct key : nk::dim<"key", 100> {};
using keys_of = nk::tensor<nk::f32, batch, key, heads, hidden>;
template <class Hide>
struct hiding {
  template <class... Mask>
  constexpr auto operator()(const auto& q, const auto& k, const auto& v, const Mask&... mask) const {
    const auto scaled =
        nk::einsum<"batch seq heads hidden, batch key heads hidden -> batch heads seq key">(q, k) * 0.125f;
    const auto weights = nk::softmax<"key">(Hide{}(scaled, mask...));
    return nk::einsum<"batch heads seq key, batch key heads hidden -> batch seq heads hidden">(weights, v);
  }
};
struct by_bias {
  constexpr auto operator()(const auto& s, const auto& bias) const { return s + bias; }
};
struct by_padding {
  constexpr auto operator()(const auto& s, const auto& shown) const {
    return nk::where(nk::detail::visible_of<seq, key>(s), nk::where(shown, s, -1e30f), -1e30f);
  }
};
struct by_window {
  constexpr auto operator()(const auto& s) const {
    using both = nk::axes<seq, key>;
    const auto before = nk::apply<nk::detail::iota_op<both, 0>, nk::i32, both>(s) -
                        nk::apply<nk::detail::iota_op<both, 1>, nk::i32, both>(s);
    return nk::where(nk::detail::visible_of<seq, key>(s) && before < 30, s, -1e30f);
  }
};
template <class Hide, class... Mask>
using hidden_by = decltype(nk::fn(hiding<Hide>{})(x{}, keys_of{}, keys_of{}, Mask{}...));

using biased = hidden_by<by_bias, nk::tensor<nk::f32, heads, seq, key>>;
using padded = hidden_by<by_padding, nk::tensor<nk::b8, batch, key>>;
using windowed = hidden_by<by_window>;
static_assert(nk::plan_of<biased, nk::cuda>.launches == 1 && nk::plan_of<padded, nk::cuda>.launches == 1 &&
              nk::plan_of<windowed, nk::cuda>.launches == 1);
static_assert(nk::cost<biased, nk::cuda>.bytes ==
              nk::byte_counts{3 * elements * 4 + 2 * 100 * 100 * 4, elements * 4});
static_assert(nk::cost<padded, nk::cuda>.bytes == nk::byte_counts{3 * elements * 4 + 3 * 100, elements * 4});
// And as nn/attention.hpp writes them.
using by_layer = decltype(nk::full_attention<"seq", "hidden">(
    x{}, x{}, x{}, nk::tensor<nk::f32, heads, seq, nk::primed<seq>>{}));
using near_by_layer = decltype(nk::causal_attention<"seq", "hidden", 30>(
    x{}, x{}, x{}, nk::tensor<nk::b8, batch, nk::primed<seq>>{}));
static_assert(nk::plan_of<by_layer, nk::cuda>.launches == 1 &&
              nk::plan_of<near_by_layer, nk::cuda>.launches == 1);
static_assert(nk::cost<by_layer, nk::cuda>.bytes == nk::cost<biased, nk::cuda>.bytes);
static_assert(nk::cost<windowed, nk::cuda>.bytes == nk::byte_counts{3 * elements * 4, elements * 4});
static_assert(nk::cost<biased, nk::cuda>.flops.transcendental == 3 * 2 * 100 * 100);
static_assert(nk::cost<padded, nk::cuda>.flops.transcendental == pairs);
static_assert(nk::cost<windowed, nk::cuda>.flops.transcendental ==
              3 * 2 * (30 * 31 / 2 + 70 * 30));  // query i sees i + 1 keys, from the 30th on 30

// A bias that is an input needs no gradient, one that is learned does.
struct given_bias {
  BOOST_HANA_DEFINE_STRUCT(given_bias, (nk::param<heads, hidden>, gain));
  constexpr auto loss(nk::input<nk::f32, batch, seq, heads, hidden> q,
                      nk::input<nk::f32, batch, key, heads, hidden> k,
                      nk::input<nk::f32, heads, seq, key> bias) const {
    return nk::mean(hiding<by_bias>{}(q * gain, k, k, bias));
  }
};
struct learned_bias {
  BOOST_HANA_DEFINE_STRUCT(learned_bias, (nk::param<heads, hidden>, gain),
                           (nk::param<heads, seq, key>, bias));
  constexpr auto loss(nk::input<nk::f32, batch, seq, heads, hidden> q,
                      nk::input<nk::f32, batch, key, heads, hidden> k) const {
    return nk::mean(hiding<by_bias>{}(q * gain, k, k, bias));
  }
};
using nk::passes::attention_choice;
using nk::passes::attention_fit;
static_assert(nk::train_step<given_bias, nk::adamw, nk::cuda>::attention ==
              attention_choice{1, 0, attention_fit::fits});
static_assert(nk::train_step<learned_bias, nk::adamw, nk::cuda>::attention ==
              attention_choice{0, 1, attention_fit::mask_needs_gradient});

}  // namespace
