// expect: trainer: the learning rate stands first and is a number
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
    return nk::mse(nk::dot<"in">(x, weight), y);
  }
};
using step = nk::train_step<model, nk::adamw>;

void f(nk::trainer<step>& t, const std::vector<float>& x, const std::vector<float>& y) {
#ifdef MISTAKE
  t.step(x, y);
#else
  t.step(1e-3, x, y);
#endif
}
