// expect: the tensor has no axis of this name
// facts: embed | batch, vocab
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct vocab : nk::dim<"vocab", 32> {};
struct embed : nk::dim<"embed", 24> {};

struct model {
  using norm = nk::nn::rms_norm<embed>;
  BOOST_HANA_DEFINE_STRUCT(model, (norm, scaled));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, vocab> x) const { return nk::mean(scaled(x)); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(scaled(x)); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
