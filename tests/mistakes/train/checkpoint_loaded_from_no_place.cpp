// expect: checkpoints are called so: save_checkpoint(files, path, trainer, sampler.state())
// facts: char
#include <napkin/napkin.hpp>

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

void f(nk::trainer<step>& t) {
#ifdef MISTAKE
  nk::load_checkpoint(t, "run.ck");
#else
  nk::load_checkpoint(nk::posix_file_system(), "run.ck", t);
#endif
}
