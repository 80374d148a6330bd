// A training step's plans on a GPU and on the CPU, made while compiling, by the compilers that make no kernels of
// them.
#include <napkin/cuda.hpp>
#include <napkin/optim/adamw.hpp>

namespace nk = napkin;

struct config {
  struct batch : nk::dim<"batch", 4> {};
  struct seq : nk::dim<"seq", 64> {};
  struct vocab : nk::dim<"vocab", 256> {};
  struct embed : nk::dim<"embed", 64> {};
  struct ffn : nk::dim<"ffn", 256> {};
  struct heads : nk::dim<"heads", 1> {};
  struct hidden : nk::dim<"hidden", 64> {};
  static constexpr std::size_t layers = 2;
};
using model = nk::nn::gpt<config>;

template <class... Options>
using step = nk::train_step<model, nk::adamw, Options...>;
using on_gpu = step<nk::compute_in<nk::bf16>, nk::cuda>;
using on_cpu = step<>;

// The device's allocation is what the memory says; a step is more than one kernel on both.
static_assert(nk::lay_out_on_device<on_gpu>().end == on_gpu::memory.peak);
static_assert(on_gpu::gradient_plan::view().count.instructions > 1);
static_assert(on_cpu::gradient_plan::view().count.instructions > 1);

int main() {}
