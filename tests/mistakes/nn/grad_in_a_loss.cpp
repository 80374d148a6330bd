// expect: grad: gradients of gradients are not supported
// facts: state
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct state : nk::dim<"state", 8> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<state>, weight));
  constexpr auto loss(nk::input<nk::f32, state> x) const {
#ifdef MISTAKE
    const auto slope = nk::grad([](auto a) { return nk::sum(a * a * a); })(x * weight);
#else
    const auto slope = 3 * x * weight * x * weight;
#endif
    return nk::sum(slope * slope);
  }
};
using step = nk::train_step<model, nk::adamw>;
void f(nk::trainer<step>&);
