// expect: a checkpoint is a trainer's
// facts: model
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw>;

#ifdef MISTAKE
void f(nk::checkpoint_folder& folder, model& m) { nk::load_checkpoint(folder, m); }
#else
void f(nk::checkpoint_folder& folder, nk::trainer<step>& t) { nk::load_checkpoint(folder, t); }
#endif
