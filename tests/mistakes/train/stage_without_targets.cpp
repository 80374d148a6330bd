// expect: trainer: one argument for each input of the model's loss, after the learning rate
// facts: expected<2> | given<1>
// only: nvcc
#include <napkin/cuda.hpp>
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
void f(nk::trainer<nk::train_step<model, nk::adamw>, nk::cuda>& t, const std::vector<float>& x,
       const std::vector<float>& y) {
#ifdef MISTAKE
  t.stage(x);
#else
  t.stage(x, y);
#endif
  (void)y;
}
