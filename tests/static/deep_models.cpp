// A model of 12 layers has no more kernels on the device than one of 2, since nvcc compiles each once; and what is
// said of a plan that was made for a few of the layers is said of all.
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"
#include "support/layered_config.hpp"

namespace nk = napkin;

namespace {

template <std::size_t Layers>
using config = nk::testing::layered_config<Layers>;

/// Kernels of a plan that do what no earlier one does: nvcc is given these (cuda/kernel_table.hpp).
template <class Plan>
constexpr std::size_t count_distinct() {
  const auto plan = Plan::view();
  std::size_t n = 0;
  for (std::size_t k = 0; k < plan.count.kernels; ++k)
    n += static_cast<std::size_t>(plan.kernels[k].like) == k;
  return n;
}
template <class Model>
using step_of = nk::train_step<Model, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>;
template <std::size_t Layers>
using gradients = typename step_of<nk::nn::gpt<config<Layers>>>::gradient_plan;

static_assert(gradients<12>::view().count.kernels > 4 * gradients<2>::view().count.kernels);  // and yet
static_assert(count_distinct<gradients<12>>() == count_distinct<gradients<2>>());
static_assert(count_distinct<gradients<2>>() > 10);

/// Attentions in the layers, and one behind them whose mask is learned.
struct with_one_more {
  using c = config<12>;
  using queries = nk::param<c::heads, c::seq, c::hidden>;
  using shift = nk::param<c::heads, c::seq, nk::primed<c::seq>>;
  BOOST_HANA_DEFINE_STRUCT(with_one_more, (nk::nn::gpt<c>, body), (queries, q), (shift, mask));
  constexpr auto loss(nk::input<nk::u16, c::batch, c::seq> x, nk::input<nk::u16, c::batch, c::seq> y) const {
    return body.loss(x, y) + nk::mean(nk::full_attention<"seq", "hidden">(q, q, q, mask));
  }
};
using nk::passes::attention_choice;
using nk::passes::attention_fit;
static_assert(gradients<12>::layers > 0 && step_of<with_one_more>::gradient_plan::layers > 0);
static_assert(step_of<nk::nn::gpt<config<12>>>::attention == attention_choice{12, 0, attention_fit::fits});
static_assert(step_of<with_one_more>::attention ==
              attention_choice{12, 1, attention_fit::mask_needs_gradient});
static_assert(nk::train_step<with_one_more, nk::adamw>::attention ==
              attention_choice{12, 1, attention_fit::mask_needs_gradient});
// Heads wider than the CPU's blocks have room for.
struct wide {
  using c = config<12>;
  struct hidden : nk::dim<"hidden", nk::on_cpu::widest_of_blocks + 1> {};
  using queries = nk::param<c::heads, c::seq, hidden>;
  BOOST_HANA_DEFINE_STRUCT(wide, (queries, q));
  constexpr auto loss() const { return nk::mean(nk::full_attention<"seq", "hidden">(q, q, q)); }
};
static_assert(nk::train_step<wide, nk::adamw>::attention ==
              attention_choice{0, 1, attention_fit::products_are_faster});

}  // namespace
