// Which products of a step on a GPU are no call of cuBLASLt's, and what the plan says of these: why, and that
// each distinct input is read once. A language model has none.
#include "napkin/cuda/cost.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/window.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"

namespace nk = napkin;

namespace {

// ---- GPT-2 124M, and a llama with shared keys
struct gpt2_small {
  struct batch : nk::dim<"batch", 64> {};
  struct seq : nk::dim<"seq", 1'024> {};
  struct vocab : nk::dim<"vocab", 50'304> {};
  struct embed : nk::dim<"embed", 768> {};
  struct heads : nk::dim<"heads", 12> {};
  struct hidden : nk::dim<"hidden", 64> {};
  struct ffn : nk::dim<"ffn", 3'072> {};
  static constexpr std::size_t layers = 12;
};
struct small_llama {
  struct batch : nk::dim<"batch", 4> {};
  struct seq : nk::dim<"seq", 512> {};
  struct vocab : nk::dim<"vocab", 8'192> {};
  struct embed : nk::dim<"embed", 512> {};
  struct ffn : nk::dim<"ffn", 1'408> {};
  struct heads : nk::dim<"heads", 8> {};
  struct kv_heads : nk::dim<"kv_heads", 4> {};
  struct group : nk::dim<"group", 2> {};
  struct hidden : nk::dim<"hidden", 64> {};
  static constexpr std::size_t layers = 4;
};
template <class Model, class In>
using step = nk::train_step<Model, nk::adamw, nk::compute_in<In>, nk::cuda>;
static_assert(step<nk::nn::gpt<gpt2_small>, nk::bf16>::refused_products == 0);
static_assert(step<nk::nn::llama<small_llama>, nk::bf16>::refused_products == 0);
static_assert(step<nk::nn::llama<small_llama>, nk::f32>::refused_products == 0);

// ---- a convolution is several calls that add up: none where each would round
struct height : nk::dim<"height", 30> {};
struct width : nk::dim<"width", 30> {};
struct down : nk::dim<"down", 3> {};
struct across : nk::dim<"across", 3> {};
struct in : nk::dim<"in", 16> {};
struct out : nk::dim<"out", 32> {};
template <class T, std::size_t Batch>
using image = nk::tensor<T, nk::dim<"batch", Batch>, height, width, in>;
template <class T>
using filter = nk::tensor<T, down, across, in, out>;
template <class T, std::size_t Batch>
using convolved = decltype(nk::dot<"down", "across", "in">(
    nk::window<"width", across>(nk::window<"height", down>(std::declval<const image<T, Batch>&>())),
    std::declval<const filter<T>&>()));

constexpr auto in_bf16 = nk::plan_of<convolved<nk::bf16, 2>, nk::cuda>;
static_assert(in_bf16.instructions[0].refused ==
              "a sum over several calls would be rounded to 16 bits in between");
static_assert(in_bf16.refused_products == 1 && in_bf16.launches == 1);
static_assert(in_bf16.bytes == nk::byte_counts{2 * (2 * 30 * 30 * 16 + 9 * 16 * 32), 2 * 2 * 28 * 28 * 32});
static_assert(nk::plan_of<convolved<nk::f32, 1>, nk::cuda>.instructions[0].refused.empty());
// A CPU's operands are packed whatever their strides.
static_assert(nk::plan_of<convolved<nk::bf16, 2>, nk::cpu>.refused_products == 0);

}  // namespace
