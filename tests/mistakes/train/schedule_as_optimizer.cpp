// expect: behind the model stands an optimizer, train_step<model, adamw>
// expect: a schedule's rate is what trainer.step is given
// facts: warmup_cosine
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};

#ifdef MISTAKE
nk::trainer<nk::train_step<model, nk::warmup_cosine>> trainer(nk::seed{1});
#else
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
