// expect: trainer, predictor: what is handed for an input is a tensor, or a container of its elements
// facts: in_operand<0> | float
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<>, weight));
  constexpr auto loss(nk::input<nk::f32, batch> x, nk::input<nk::f32> y) const {
    return nk::mean(x * weight - y);
  }
};
using step = nk::train_step<model, nk::adamw>;

void f(nk::trainer<step>& trainer, const std::vector<float>& x) {
#ifdef MISTAKE
  trainer.step(1e-3, 0.5f, 0.5f);
#else
  trainer.step(1e-3, x, 0.5f);
#endif
  (void)x;
}
