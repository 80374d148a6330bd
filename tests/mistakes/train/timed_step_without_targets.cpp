// expect: trainer: one argument for each input of the model's loss, after the learning rate
// facts: expected<2> | given<1>
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
void f(nk::trainer<nk::train_step<model, nk::adamw>>& t, const std::vector<float>& x,
       const std::vector<float>& y, std::span<double> seconds) {
#ifdef MISTAKE
  t.step_timed(seconds, 1e-3, x);
#else
  t.step_timed(seconds, 1e-3, x, y);
#endif
  (void)y;
}
