// expect: this is asked of a training step's type, using step = train_step<model, optimizer>
// facts: model
#include <napkin/napkin.hpp>
#include <napkin/train/step_rates.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
    return nk::mse(nk::dot<"in">(x, weight), y);
  }
};
nk::step_work f() {
#ifdef MISTAKE
  return nk::work_of<model>(nullptr);
#else
  return nk::work_of<nk::train_step<model, nk::adamw>>(nullptr);
#endif
}
