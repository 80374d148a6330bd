// expect: a tensor's axes differ from those of the input that it is for
// facts: embed, batch | batch, embed
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
void f(nk::trainer<step>& trainer, const nk::tensor<nk::f32, embed, batch>& x) { trainer.step(0.1, x); }
#else
void f(nk::trainer<step>& trainer, const nk::tensor<nk::f32, batch, embed>& x) { trainer.step(0.1, x); }
#endif
