// expect: trainer, predictor: what is handed for an input is a tensor, or a container of its elements
// facts: in_operand<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw>;

void f(nk::trainer<step>& trainer, const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  trainer.step(1e-3, 2 * x);
#else
  trainer.step(1e-3, nk::eval(2 * x));
#endif
}
