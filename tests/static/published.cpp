// Published totals of whole models, from the library's own models at those sizes: parameters, and FLOPs by
// the convention of whoever published them. (GPT-2 124M's are also in cost_gpt2.cpp, backward included.)
#include <string_view>

#include "napkin/cost/conventions.hpp"
#include "napkin/cost/rules_of_thumb.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"

namespace nk = napkin;
namespace rules = nk::rules_of_thumb;

namespace {

/// As nn/transformer.hpp takes it: one sequence of T tokens, L layers D wide with H heads.
template <std::size_t V, std::size_t T, std::size_t L, std::size_t D, std::size_t H, std::size_t F>
struct config {
  struct batch : nk::dim<"batch", 1> {};
  struct seq : nk::dim<"seq", T> {};
  struct vocab : nk::dim<"vocab", V> {};
  struct embed : nk::dim<"embed", D> {};
  struct heads : nk::dim<"heads", H> {};
  struct kv_heads : nk::dim<"kv_heads", H> {};
  struct group : nk::dim<"group", 1> {};
  struct hidden : nk::dim<"hidden", D / H> {};
  struct ffn : nk::dim<"ffn", F> {};
  static constexpr std::size_t layers = L;
};
template <class Model>
constexpr nk::graph_view traced = nk::frozen<nk::model_graph<Model>>::view();
template <class Model>
constexpr std::uint64_t forward = nk::conventions::torch_of(traced<Model>).forward;

// ---- CS336's handout: SwiGLU, a head of its own, no biases; GPT-2 XL's sizes
template <std::size_t T>
using handout_xl = nk::nn::llama<config<50'257, T, 48, 1'600, 25, 6'400>>;
static_assert(nk::count_parameters<handout_xl<1'024>> == 2'127'057'600);
static_assert(nk::count_parameters<handout_xl<1'024>> * sizeof(nk::f32) == 8'508'230'400);
static_assert(forward<handout_xl<1'024>> == 4'513'336'524'800);
static_assert(forward<handout_xl<16'384>> == 149'522'795'724'800);

// GPT-2's other sizes with SwiGLU
static_assert(forward<nk::nn::llama<config<50'257, 1'024, 12, 768, 12, 3'072>>> == 349'630'365'696);
static_assert(forward<nk::nn::llama<config<50'257, 1'024, 24, 1'024, 16, 4'096>>> == 1'033'109'504'000);
static_assert(forward<nk::nn::llama<config<50'257, 1'024, 36, 1'280, 20, 5'120>>> == 2'257'754'521'600);

// and its model for TinyStories
using tiny_stories = nk::nn::llama<config<10'000, 256, 4, 512, 16, 1'344>>;
static_assert(nk::count_parameters<tiny_stories> == 22'696'448);
static_assert(forward<tiny_stories> == 9'533'652'992);

// ---- nanoGPT's sizing of GPT-2 124M, which has no biases; PaLM's and llm.c's rules on it
using gpt2 = nk::nn::gpt<config<50'257, 1'024, 12, 768, 12, 3'072>>;
constexpr std::uint64_t count_without_biases() {
  std::uint64_t n = 0;
  for (const nk::parameter_info& p : nk::parameter_table<gpt2>)
    if (!p.name.ends_with("bias")) n += p.count;
  return n;
}
constexpr std::uint64_t parameters = count_without_biases(), tokens = 1'024;
static_assert(parameters == 124'337'664);
static_assert(forward<gpt2> == 291'648'307'200);
static_assert(3 * forward<gpt2> == 874'944'921'600);
constexpr auto palm = nk::conventions::rule_6nd_with_attention_of(
    parameters, tokens, nk::conventions::attention_flops_of(traced<gpt2>));
static_assert(palm.total() == 879'894'724'608);
static_assert(palm.total() / tokens == 859'272'192);
static_assert(rules::palm_flops(parameters, 12, 12, 64, tokens) == 859'272'192);
static_assert(rules::llm_c_flops(parameters, 12, 12, 64, tokens) == 802'649'088);
static_assert(sizeof(nk::f32) * (1 + 2) * parameters == 1'492'051'968);  // nanoGPT's estimate of a checkpoint

// ---- memory by the literature's formulas: 7.5 G parameters among 64 devices, GPT-3's activations
constexpr bool is_near(double a, double b) { return a / b - 1 < 1e-3 && 1 - a / b < 1e-3; }
static_assert(rules::zero_bytes(0, 7.5e9, 64) == 120e9);
static_assert(is_near(rules::zero_bytes(1, 7.5e9, 64), 31.406e9));
static_assert(is_near(rules::zero_bytes(2, 7.5e9, 64), 16.641e9));
static_assert(rules::zero_bytes(3, 7.5e9, 64) == 1.875e9);
constexpr rules::transformer gpt3{
    .layers = 96, .sequence = 2'048, .batch = 1, .hidden = 12'288, .heads = 96, .ffn = 49'152};
constexpr double gibi = 1024.0 * 1024 * 1024;
using rules::recomputation;
static_assert(rules::activation_bytes(gpt3) == 256.5 * gibi);
static_assert(rules::activation_bytes(gpt3, recomputation::selective) == 76.5 * gibi);
static_assert(rules::activation_bytes(gpt3, recomputation::full) == 4.5 * gibi);
static_assert(rules::activation_bytes_eleuther(gpt3, 2) == rules::activation_bytes(gpt3));
static_assert(rules::activation_bytes_megatron(gpt3) == 76.5 * gibi);
constexpr rules::transformer among_8 = [] {
  rules::transformer x = gpt3;
  x.tensor_parallel = 8;
  return x;
}();
static_assert(rules::activation_bytes(among_8, recomputation::none, true) ==
              rules::activation_bytes(gpt3) / 8);
static_assert(rules::activation_bytes(among_8) > rules::activation_bytes(among_8, recomputation::none, true));
constexpr rules::transformer gpt2_124m{
    .layers = 12, .sequence = 1'024, .batch = 1, .hidden = 768, .heads = 12, .ffn = 3'072};
static_assert(is_near(rules::step_flops_megatron(gpt2_124m, 50'257, 12), 3.0 * forward<gpt2>));
static_assert(rules::adamw_megatron.total() == 18 && rules::distributed_optimizer_bytes(1) == 18);

}  // namespace
