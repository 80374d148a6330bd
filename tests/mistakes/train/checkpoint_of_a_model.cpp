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
void f(nk::checkpoint_folder& folder, const model& m, const nk::batch_sampler& sampler) {
  nk::save_checkpoint(folder, m, sampler.state());
}
#else
void f(nk::checkpoint_folder& folder, const nk::trainer<step>& t, const nk::batch_sampler& sampler) {
  nk::save_checkpoint(folder, t, sampler.state());
}
#endif
