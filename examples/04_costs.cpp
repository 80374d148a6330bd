// Costs are constants. What an expression computes and moves, how it is lowered, and the sums that are
// worked on a napkin: all of it is asserted here before anything runs; main only prints it.
#include <cstdio>
#include <napkin/napkin.hpp>
#include <napkin/nn/activation.hpp>
#include <string>

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 8> {};
struct seq : nk::dim<"seq", 256> {};
struct embed : nk::dim<"embed", 512> {};
struct ffn : nk::dim<"ffn", 2048> {};

// Types are all that is asked about: no tensor is made for them.
using activations = nk::tensor<nk::f32, batch, seq, embed>;
using up = nk::tensor<nk::f32, embed, ffn>;
using down = nk::tensor<nk::f32, ffn, embed>;
constexpr auto mlp = [](const activations& x, const up& u, const down& d) {
  const auto h = nk::gelu(nk::dot<"embed">(x, u));  // [batch, seq, ffn]
  return nk::dot<"ffn">(h, d) + x;                  // [batch, seq, embed]
};
using expression = decltype(mlp(std::declval<activations>(), std::declval<up>(), std::declval<down>()));

// What is computed, whatever computes it: 2 FLOPs for each term of a contraction. A function applied is
// apart.
constexpr std::uint64_t tokens = 8 * 256;
static_assert(nk::cost<expression>.flops.matmul == 2 * tokens * 2 * 512 * 2048);
static_assert(nk::cost<expression>.flops.transcendental == tokens * 2048);  // one tanh each

// How the CPU's plan computes it: kernels and library calls, the bytes that they move, memory of its own.
constexpr auto plan = nk::plan_of<expression, nk::cpu>;
static_assert(plan.launches <= 4);
static_assert(plan.bytes.total() == nk::cost<expression>.bytes.total());
static_assert(plan.peak >= tokens * 2048 * sizeof(float));  // the hidden layer lies somewhere

// What it takes at least on a device that nobody here has, kernel by kernel the slower of FLOPs and bytes.
static_assert(nk::time_on<nk::h100_sxm, expression>.seconds > 2 * tokens * 2 * 512 * 2048 / 67e12);
static_assert(nk::time_on<nk::h100_sxm, expression, nk::cpu, nk::arithmetic::tf32>.seconds <
              nk::time_on<nk::h100_sxm, expression>.seconds / 4);

// The same counted as PyTorch's FlopCounterMode would, and exactly; they differ in causal attention only.
static_assert(nk::conventions::torch<expression>.forward == nk::cost<expression>.flops.matmul);
static_assert(nk::conventions::exact<expression>.forward == nk::cost<expression>.flops.matmul);

// An order of contraction is chosen for what it costs: a vector through two matrices never multiplies these.
using vector = nk::tensor<nk::f32, nk::dim<"a", 1000>>;
using first = nk::tensor<nk::f32, nk::dim<"a", 1000>, nk::dim<"b", 1000>>;
using second = nk::tensor<nk::f32, nk::dim<"b", 1000>, nk::dim<"c", 1000>>;
using chain = decltype(nk::einsum<"a b, b c, a -> c">(std::declval<first>(), std::declval<second>(),
                                                      std::declval<vector>()));
static_assert(nk::cost<chain>.flops.matmul == 2 * 2 * 1'000'000);  // and not 2 * 1'000'000'000

// Rules of thumb, for what has no graph yet. "How long would 1,024 H100s take to train a model of 70 G
// parameters on 15 T tokens, at half their peak?"
constexpr double days = nk::rules_of_thumb::training_days(
    {.parameters = 70e9, .tokens = 15e12, .device = nk::h100_sxm, .devices = 1024, .mfu = 0.5});
static_assert(days > 143 && days < 144);
// "How large a model can AdamW train in f32 on eight of them, without activations?" 16 bytes a parameter.
static_assert(nk::rules_of_thumb::largest_model(nk::h100_sxm, 8, nk::rules_of_thumb::adamw_f32) == 40e9);

}  // namespace

int main() {
  std::printf("%s\n", nk::to_string(plan).c_str());
  std::printf("%s\n", nk::cost_table("kind", nk::rows_by_kind(plan.instructions)).c_str());
  std::printf("%s\n", nk::memory_table(plan.memory).c_str());
  std::printf("On %s, in f32:\n%s\n", std::string(std::string_view(nk::h100_sxm.name)).c_str(),
              nk::time_table(plan.instructions, nk::h100_sxm).c_str());
  std::printf("70 G parameters, 15 T tokens, 1,024 H100s at half their peak: %.1f days\n", days);
}
