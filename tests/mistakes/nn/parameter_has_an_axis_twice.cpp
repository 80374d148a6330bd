// expect: two axes bear one name
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

#ifdef MISTAKE
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed, embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const {
    return nk::mean(nk::dot<"embed">(x, weight));
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed, nk::primed<embed>>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const {
    return nk::mean(nk::dot<"embed">(x, weight));
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
