// The napkin math of deep learning: the worked examples of Stanford's CS336 (lecture 2), each beside what the
// library says exactly, and the same for one's own numbers:
//   napkin_math --parameters 70e9 --tokens 15e12 --devices 1024
//   napkin_math --parameters 7e9 --layers 32 --hidden 4096 --heads 32 --sequence 4096 --batch 8
//   napkin_math --measure
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <napkin/napkin.hpp>
#include <napkin/optim/adagrad.hpp>
#include <napkin/optim/sgd.hpp>
#include <napkin/train/host_device.hpp>
#include <string>
#include <vector>

#include "support/napkin_options.hpp"

namespace nk = napkin;
namespace rules = nk::rules_of_thumb;

namespace {

// ---- printing: what it is, and what it comes to

void title(const char* text) { std::printf("\n%s\n", text); }
void line(const char* what, const std::string& is) { std::printf("  %-58s %s\n", what, is.c_str()); }
std::string exactly(std::uint64_t n) { return nk::with_separators(n); }
std::string number(double x, const char* unit = "") {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g%s", x, unit);
  return text;
}
std::string gigabytes(double bytes) { return number(bytes / 1e9, " GB"); }

// ---- the lecture's models, as types: nothing is made of them but their costs

template <std::size_t B, std::size_t D, std::size_t K>
struct two_layers {
  using x = nk::tensor<nk::f32, nk::dim<"points", B>, nk::dim<"in", D>>;
  using w1 = nk::tensor<nk::f32, nk::dim<"in", D>, nk::dim<"inner", D>>;
  using w2 = nk::tensor<nk::f32, nk::dim<"inner", D>, nk::dim<"out", K>>;
  struct loss {
    constexpr auto operator()(auto input, auto first, auto second) const {
      const auto h2 = nk::matmul(nk::matmul(input, first), second);
      return nk::mean(h2 * h2);
    }
  };
  using step = nk::gradient_of<decltype(nk::grad<1, 2>(loss{})), x, w1, w2>;
  using one = decltype(nk::matmul(
      std::declval<const nk::tensor<nk::f32, nk::dim<"points", B>, nk::dim<"inner", D>>&>(),
      std::declval<const w2&>()));
  static constexpr nk::conventions::counts rule = nk::conventions::rule_6nd_of(D * D + D * K, B);
};

/// L square layers and a head: B points of D features.
template <std::size_t B, std::size_t D, std::size_t L>
struct cruncher {
  struct batch : nk::dim<"batch", B> {};
  using in = nk::dim<"in", D>;
  struct one : nk::dim<"one", 1> {};
  struct layer {
    BOOST_HANA_DEFINE_STRUCT(layer, (nk::param<nk::dim<"in", D>, nk::dim<"out", D>>, weight));
  };
  using layers = std::array<layer, L>;
  BOOST_HANA_DEFINE_STRUCT(cruncher, (layers, hidden), (nk::param<in, one>, head));

  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
    auto h = x;  // [batch, in]
    for (const layer& l : hidden) h = nk::rename<"out", "in">(nk::dot<"in">(h, l.weight));
    const auto error = nk::index<"one", 0>(nk::dot<"in">(h, head)) - y;  // [batch]
    return nk::mean(error * error);
  }
};
template <class Optimizer>
using tiny_step = nk::train_step<cruncher<2, 4, 2>, Optimizer>;

/// A small GPT, whose exact memory stands beside the formulas of the literature.
struct small {
  struct batch : nk::dim<"batch", 8> {};
  struct seq : nk::dim<"seq", 128> {};
  struct vocab : nk::dim<"vocab", 256> {};
  struct embed : nk::dim<"embed", 128> {};
  struct heads : nk::dim<"heads", 4> {};
  struct hidden : nk::dim<"hidden", 32> {};
  struct ffn : nk::dim<"ffn", 512> {};
  static constexpr std::size_t layers = 2;
};
using gpt_step = nk::train_step<nk::nn::gpt<small>, nk::adamw>;

// ---- the lecture's list

void print_compute() {
  title("Napkin math (N)");
  line("N1  6 x 70 G parameters x 15 T tokens", number(rules::training_flops(70e9, 15e12), " FLOPs"));
  constexpr rules::training_run run{
      .parameters = 70e9, .tokens = 15e12, .device = nk::h100_sxm, .devices = 1024, .mfu = 0.5};
  line("N2  on 1,024 H100s at MFU 0.5", number(rules::training_days(run), " days"));
  line("N3  the largest model that AdamW trains in f32 on 8 H100s",
       number(rules::largest_model(nk::h100_sxm, 8, rules::adamw_f32), " parameters"));
  constexpr rules::training_run eight{.device = nk::h100_sxm, .devices = 8, .mfu = 1};
  line("N4  8 H100s in 2 weeks", number(rules::flops_in(14, eight), " FLOPs"));
  line("    what the lecture prints for it are 7 days", number(rules::flops_in(7, eight), " FLOPs"));
  line("N5  GPT-3 took 3.14e23; on those 8 H100s", number(3.14e23 / rules::flops_in(1, eight), " days"));
}

template <class Model>
void print_two_layers(const char* of) {
  using step = typename Model::step;
  constexpr auto exact = nk::conventions::exact<step>;
  title(of);
  line("F1  one of them forward, D to K", exactly(nk::cost<typename Model::one>.flops.matmul));
  line("G2  forward", exactly(exact.forward));
  line("G2  backward by the rule, twice that", exactly(Model::rule.backward));
  line("G3  backward exactly: nobody wants the gradient of x", exactly(exact.backward));
  line("    in all by the rule, and exactly", exactly(Model::rule.total()) + "   " + exactly(exact.total()));
  line("    the rule says more, by a factor of",
       number(static_cast<double>(Model::rule.total()) / static_cast<double>(exact.total())));
  constexpr nk::time_bound least = nk::time_on<nk::h100_sxm, step>;
  line("    an H100 takes at least, in f32", number(least.seconds * 1e6, " us"));
}

/// Of a lazy expression: what it computes and moves.
template <class E>
void print_costs(const char* what) {
  constexpr nk::cost_sheet c = nk::cost<E>;
  line(what, exactly(c.flops.total()) + " FLOPs, " + exactly(c.bytes.total()) + " B, " + exactly(c.launches) +
                 (c.launches == 1 ? " launch" : " launches"));
}
template <class X>
const X& some();  // for types of expressions: never defined

void print_tensors() {
  title("Tensors, views, products (T, V, M, I, X)");
  using small_matrix = nk::tensor<nk::f32, nk::dim<"row", 4>, nk::dim<"column", 8>>;
  using gpt3_ffn = nk::tensor<nk::f32, nk::dim<"ffn", 49'152>, nk::dim<"embed", 12'288>>;
  using square = nk::tensor<nk::f32, nk::dim<"row", 32>, nk::dim<"column", 32>>;
  line("T2  4 x 8 in f32", exactly(nk::bytes_of<small_matrix>) + " B");
  line("T3  a feed-forward matrix of GPT-3 in f32",
       nk::bytes_text(nk::bytes_of<gpt3_ffn>) + " (" + exactly(nk::bytes_of<gpt3_ffn>) + " B)");
  line("T4  1e-8 in f16, in bf16",
       number(static_cast<double>(nk::f16(1e-8))) + "   " + number(static_cast<double>(nk::bf16(1e-8))));
  line("T5  largest f32, f16, bf16", number(nk::finfo<nk::f32>::max) + "   " +
                                         number(nk::finfo<nk::f16>::max) + "   " +
                                         number(nk::finfo<nk::bf16>::max));
  line("T6  largest f8 (e4m3), (e5m2)",
       number(nk::finfo<nk::f8e4m3>::max) + "   " + number(nk::finfo<nk::f8e5m2>::max));
  line("T7  two of 32 x 32", exactly(2 * nk::bytes_of<square>) + " B");
  print_costs<decltype(nk::transpose<"row", "column">(some<small_matrix>()))>("V2  a transposed view");
  print_costs<decltype(nk::rearrange<"row column -> (column row)">(some<small_matrix>()))>(
      "V3  the same, laid out as one axis");
  using x = nk::tensor<nk::f32, nk::dim<"m", 16>, nk::dim<"k", 32>>;
  using w = nk::tensor<nk::f32, nk::dim<"k", 32>, nk::dim<"n", 2>>;
  print_costs<decltype(nk::matmul(some<x>(), some<w>()))>("M1  (16, 32) by (32, 2)");
  using a = nk::tensor<nk::f32, nk::dim<"batch", 2>, nk::dim<"seq1", 3>, nk::dim<"hidden", 4>>;
  using b = nk::tensor<nk::f32, nk::dim<"batch", 2>, nk::dim<"seq2", 3>, nk::dim<"hidden", 4>>;
  print_costs<decltype(nk::einsum<"batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2">(
      some<a>(), some<b>()))>("I2  einsum batch seq1 hidden, batch seq2 hidden");
  print_costs<decltype(nk::cast<nk::bf16>(some<small_matrix>()))>("X1  f32 to bf16");
}

template <class Optimizer>
void print_tiny(const char* name) {
  using step = tiny_step<Optimizer>;
  constexpr std::uint64_t n = nk::count_parameters<typename step::model>, hidden = 2 * 2 * 4;
  const std::uint64_t napkin = sizeof(nk::f32) * ((2 + Optimizer::states) * n + hidden);
  line(name, exactly(napkin) + " B by the formula, " + exactly(step::memory.peak) + " B allocated");
}

void print_cruncher() {
  using step = tiny_step<nk::adagrad>;
  title("The Cruncher, D = 4, B = 2, two layers (C): the formula leaves out data, loss and alignment");
  line("C1  parameters of D = 64", exactly(nk::count_parameters<cruncher<8, 64, 2>>));
  line("C2  parameters", exactly(nk::count_parameters<step::model>));
  line("C2  FLOPs by the rule",
       exactly(nk::conventions::rule_6nd_of(nk::count_parameters<step::model>, 2).total()));
  line("C3  exactly", exactly(nk::conventions::exact<step>.total()));
  print_tiny<nk::sgd>("C4  SGD");
  print_tiny<nk::momentum>("C4  momentum");
  print_tiny<nk::adagrad>("C2  AdaGrad");
  print_tiny<nk::rmsprop>("C4  RMSProp");
  print_tiny<nk::adamw>("C4  AdamW");
  constexpr std::uint64_t granule = 512, live = 14;
  line("C5  PyTorch: 14 live tensors of at least 512 B each", exactly(granule * live) + " B");
  line("C5  and the workspace of its first product", exactly(8'519'680) + " B");
  line("K1  parameters of D = 64, three layers", exactly(nk::count_parameters<cruncher<4, 64, 3>>));
}

void print_memory(const rules::transformer& x) {
  using rules::recomputation;
  line("activations, sbh(34 + 5as/h)", gigabytes(rules::activation_bytes(x)));
  line("the scores computed again", gigabytes(rules::activation_bytes(x, recomputation::selective)));
  line("each layer computed again", gigabytes(rules::activation_bytes(x, recomputation::full)));
  line("Eleuther's form, of 2 bytes", gigabytes(rules::activation_bytes_eleuther(x, 2)));
  line("Megatron's, times 1.05", gigabytes(1.05 * rules::activation_bytes_megatron(x)));
}

void print_zero(double parameters, double devices) {
  for (int stage = 0; stage <= 3; ++stage)
    line(("ZeRO stage " + std::to_string(stage) + ", each device").c_str(),
         gigabytes(rules::zero_bytes(stage, parameters, devices)));
}

void print_exact_beside_formulas() {
  title("A GPT of two layers, 128 wide, 8 sequences of 128 tokens, in f32: formulas and exact numbers");
  constexpr rules::transformer x{.layers = small::layers,
                                 .sequence = small::seq::size,
                                 .batch = small::batch::size,
                                 .hidden = small::embed::size,
                                 .heads = small::heads::size,
                                 .ffn = small::ffn::size};
  constexpr auto n = static_cast<double>(gpt_step::parameter_count);
  line("parameters, gradients and AdamW's state: 16 bytes each", number(16 * n, " B"));
  line("  exactly, padding that aligns them included",
       exactly(gpt_step::memory.parameters + gpt_step::memory.gradients + gpt_step::memory.optimizer_state) +
           " B");
  line("activations, Eleuther's form of 4 bytes", number(rules::activation_bytes_eleuther(x, 4), " B"));
  line("  the arena exactly: they and all that is computed from them",
       exactly(gpt_step::memory.intermediates) + " B");
  line("  the most that is alive at once", exactly(gpt_step::memory.intermediates_lower_bound) + " B");
  line("FLOPs of a step, 6 N D", exactly(nk::conventions::rule_6nd<gpt_step>.total()));
  line("  with 12 L H Q T for each token",
       exactly(nk::conventions::rule_6nd_with_attention<gpt_step>.total()));
  line("  Megatron's formula", number(rules::step_flops_megatron(x, small::vocab::size, small::heads::size)));
  line("  as PyTorch counts", exactly(nk::conventions::torch<gpt_step>.total()));
  line("  exactly, causal attention as a triangle", exactly(nk::conventions::exact<gpt_step>.total()));
  line("  products that this backend executes", exactly(gpt_step::cost.flops.matmul));
  line("an H100 takes at least", number(nk::time_on<nk::h100_sxm, gpt_step>.seconds * 1e6, " us"));
}

void print_list() {
  print_compute();
  print_tensors();
  print_two_layers<two_layers<1'024, 256, 64>>("Two linear layers, B = 1,024, D = 256, K = 64 (F, G), FLOPs");
  print_two_layers<two_layers<16'384, 32'768, 8'192>>("The same, B = 16,384, D = 32,768, K = 8,192");
  print_cruncher();
  title("7.5 G parameters in mixed precision among 64 devices");
  print_zero(7.5e9, 64);
  title("GPT-3's activations, one sequence of 2,048 tokens");
  print_memory({.layers = 96, .sequence = 2'048, .batch = 1, .hidden = 12'288, .heads = 96, .ffn = 49'152});
  print_exact_beside_formulas();
}

// ---- one's own numbers

nk::device device_of(const napkin_options& o) {
  return o.device == "host" ? nk::host_device() : nk::device_named(o.device);
}
/// The fastest that models are trained in: bf16, or f32 where a device has no such unit.
nk::arithmetic arithmetic_on(const nk::device& d) {
  return d.peak(nk::arithmetic::bf16).per_second > 0 ? nk::arithmetic::bf16 : nk::arithmetic::f32;
}
rules::bytes_per_parameter bytes_with(const std::string& optimizer) {
  if (optimizer == "sgd") return rules::sgd_f32;
  if (optimizer == "momentum") return rules::momentum_f32;
  if (optimizer == "adagrad") return rules::adagrad_f32;
  if (optimizer == "rmsprop") return rules::rmsprop_f32;
  if (optimizer == "adamw_mixed") return rules::adamw_mixed;
  return optimizer == "adamw_megatron" ? rules::adamw_megatron : rules::adamw_f32;
}

void print_own(const napkin_options& o) {
  const nk::device on = device_of(o);
  const nk::arithmetic in = arithmetic_on(on);
  const rules::bytes_per_parameter each = bytes_with(o.optimizer);
  std::printf("%s, %s, peak %s, at MFU %g\n", number(o.devices).c_str(),
              std::string(std::string_view(on.name)).c_str(),
              number(static_cast<double>(on.peak(in).per_second) / 1e12, " TFLOP/s").c_str(), o.mfu);
  const rules::training_run run{o.parameters, o.tokens, on, o.devices, o.mfu, in};
  line("FLOPs in a day", number(rules::flops_in(1, run)));
  line(("bytes for each parameter, " + o.optimizer).c_str(), number(each.total()));
  line("the largest model, activations left out",
       number(rules::largest_model(on, o.devices, each), " parameters"));
  if (o.parameters > 0) {
    line("parameters, gradients and state", gigabytes(o.parameters * each.total()));
    print_zero(o.parameters, o.devices);
    if (o.tokens > 0) {
      line("6 N D", number(rules::training_flops(o.parameters, o.tokens), " FLOPs"));
      line("days", number(rules::training_days(run)));
    }
  }
  if (o.layers == 0) return;
  if (o.hidden == 0 || o.heads == 0 || o.sequence == 0)
    throw nk::input_error("--layers goes with --hidden, --heads and --sequence");
  const double ffn = o.ffn > 0 ? o.ffn : 4 * o.hidden;
  const rules::transformer x{o.layers, o.sequence, o.batch, o.hidden, o.heads, ffn};
  print_memory(x);
  if (o.parameters > 0) {
    line("FLOPs for each token, PaLM's rule",
         number(rules::palm_flops(o.parameters, o.layers, o.heads, o.hidden / o.heads, o.sequence)));
    line("FLOPs for each token, llm.c's",
         number(rules::llm_c_flops(o.parameters, o.layers, o.heads, o.hidden / o.heads, o.sequence)));
  }
  if (o.vocabulary > 0)
    line("FLOPs of a step, Megatron's formula", number(rules::step_flops_megatron(x, o.vocabulary, o.heads)));
}

// ---- this machine (F2, F3): the median of five, each product finished before the clock is read

int print_measured() {
  const nk::device host = nk::host_device();
  title("This machine, all threads");
  line("f32", number(static_cast<double>(host.peak(nk::arithmetic::f32).per_second) / 1e9, " GFLOP/s"));
  line("f64", number(static_cast<double>(host.peak(nk::arithmetic::f64).per_second) / 1e9, " GFLOP/s"));
  line("memory", number(static_cast<double>(host.bandwidth) / 1e9, " GB/s"));

  using model = two_layers<1'024, 1'024, 512>;
  const auto x = nk::randn<nk::f32, nk::dim<"points", 1'024>, nk::dim<"in", 1'024>>(nk::seed{1});
  const auto w = nk::randn<nk::f32, nk::dim<"in", 1'024>, nk::dim<"inner", 1'024>>(nk::seed{2});
  const auto v = nk::randn<nk::f32, nk::dim<"inner", 1'024>, nk::dim<"out", 512>>(nk::seed{3});
  std::vector<double> seconds;
  for (int trial = 0; trial < 6; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    const auto gradients = nk::grad<1, 2>(model::loss{})(x, w, v);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin() + 1, seconds.end());  // the first one warms up
  const double median = seconds[3];
  line("two layers of 1,024, forward and backward", number(median * 1e3, " ms"));
  line("  at least", number(nk::time_on_device<model::step>(host).seconds * 1e3, " ms"));
  line("  MFU", number(nk::mfu<model::step>(host, median)));
  return 0;
}

int run(const napkin_options& o) {
  if (o.measure) return print_measured();
  if (o.given)
    print_own(o);
  else
    print_list();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_napkin(argc, argv, run); }
