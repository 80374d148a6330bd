// A program that trains a model for one step. With -DACCOUNTED it also asserts what the step costs, in each
// way that can be asked; with -DASKED_AT_RUN_TIME it asks while it runs, which instructions.sh must see.
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

namespace accounting {

struct batch : nk::dim<"batch", 8> {};
struct feature : nk::dim<"feature", 16> {};
struct hidden : nk::dim<"hidden", 24> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<feature, hidden>, up), (nk::param<hidden>, down));
  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto error = nk::dot<"hidden">(nk::tanh(nk::dot<"feature">(x, up)), down) - y;
    return nk::mean(error * error);
  }
};
using step = nk::train_step<model, nk::adamw>;

#if defined(ACCOUNTED)
static_assert(step::cost.flops.matmul > 3 * step::cost.forward.flops.matmul / 2);
static_assert(step::cost.bytes.read > step::memory.parameters && step::cost.launches > 0);
static_assert(step::memory.activations <= step::memory.intermediates);
static_assert(nk::conventions::torch<step>.total() >= nk::conventions::exact<step>.total());
static_assert(nk::conventions::rule_6nd<step>.total() > 0);
static_assert(nk::time_on<nk::h100_sxm, step>.seconds > 0);
static_assert(nk::mfu<step>(nk::h100_sxm, 1.0) > 0);
static_assert(nk::fits<nk::h100_sxm, step> && nk::checkpoint_bytes<step> > step::memory.parameters);
static_assert(step::recomputed.flops == 0);
#endif

}  // namespace accounting

int main() {
  nk::trainer<accounting::step> trainer(nk::seed{1});
  const std::vector<float> x(8 * 16), y(8);
  const bool applied = trainer.step(1e-3, x, y).applied;
#if defined(ASKED_AT_RUN_TIME)
  if (applied) return static_cast<int>(nk::time_on_device<accounting::step>(nk::h100_sxm).kernels);
#endif
  return applied ? 0 : 1;
}
