// expect: this is asked of a training step's type, using step = train_step<model, optimizer>
// facts: model
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

float f(const std::vector<float>& x, const std::vector<float>& y) {
#ifdef MISTAKE
  nk::trainer<model> trainer(nk::seed{1});
  return trainer.step(1e-3, x, y).loss;
#else
  nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
  return trainer.step(1e-3, x, y).loss;
#endif
}
