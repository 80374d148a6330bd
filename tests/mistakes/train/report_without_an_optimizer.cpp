// expect: behind the model stands an optimizer, train_step<model, adamw>
#include <napkin/napkin.hpp>
#include <napkin/train/step_report.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
    return nk::mse(nk::dot<"in">(x, weight), y);
  }
};
std::string f() {
#ifdef MISTAKE
  return nk::step_report<nk::train_step<model>>();
#else
  return nk::step_report<nk::train_step<model, nk::adamw>>();
#endif
}
