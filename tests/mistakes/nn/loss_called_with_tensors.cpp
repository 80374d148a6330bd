// expect: trainer.evaluate(x)
// facts: batch, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw>;

void f(nk::trainer<step>& trainer, const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  model m;
  m.loss(x);
#else
  trainer.evaluate(x);
#endif
}
