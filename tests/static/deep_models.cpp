// A model of 12 layers has no more kernels on the device than one of 2: nvcc compiles each once.
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"

namespace nk = napkin;

namespace {

template <std::size_t Layers>
struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 128> {};
  struct vocab : nk::dim<"vocab", 40> {};
  struct embed : nk::dim<"embed", 32> {};
  struct ffn : nk::dim<"ffn", 48> {};
  struct heads : nk::dim<"heads", 2> {};
  struct hidden : nk::dim<"hidden", 16> {};
  static constexpr std::size_t layers = Layers;
};

/// Kernels of a plan that do what no earlier one does: nvcc is given these (cuda/kernel_table.hpp).
template <class Plan>
constexpr std::size_t count_distinct() {
  const auto plan = Plan::view();
  std::size_t n = 0;
  for (std::size_t k = 0; k < plan.count.kernels; ++k)
    n += static_cast<std::size_t>(plan.kernels[k].like) == k;
  return n;
}
template <std::size_t Layers>
using gradients = typename nk::train_step<nk::nn::gpt<config<Layers>>, nk::adamw, nk::compute_in<nk::bf16>,
                                          nk::cuda>::gradient_plan;

static_assert(gradients<12>::view().count.kernels > 4 * gradients<2>::view().count.kernels);  // and yet
static_assert(count_distinct<gradients<12>>() == count_distinct<gradients<2>>());
static_assert(count_distinct<gradients<2>>() > 10);

}  // namespace
