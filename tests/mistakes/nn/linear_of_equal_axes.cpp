// expect: two axes bear one name; primed<axis>
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
#ifdef MISTAKE
  BOOST_HANA_DEFINE_STRUCT(model, (nk::nn::linear<embed, embed>, layer));
#else
  BOOST_HANA_DEFINE_STRUCT(model, (nk::nn::linear<embed, nk::primed<embed>>, layer));
#endif
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(layer(x)); }
};
constexpr auto cost = nk::cost<nk::train_step<model, nk::adamw>>;
