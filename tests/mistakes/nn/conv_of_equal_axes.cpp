// expect: two axes bear one name; primed<axis>
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};
struct frame : nk::dim<"frame", 8> {};
struct tap : nk::dim<"tap", 3> {};
struct out : nk::dim<"out", 24> {};

struct model {
#ifdef MISTAKE
  BOOST_HANA_DEFINE_STRUCT(model, (nk::nn::conv<embed, embed, nk::nn::along<frame, tap>>, layer));
#else
  BOOST_HANA_DEFINE_STRUCT(model, (nk::nn::conv<embed, out, nk::nn::along<frame, tap>>, layer));
#endif
  constexpr auto loss(nk::input<nk::f32, batch, frame, embed> x) const { return nk::mean(layer(x)); }
};
constexpr auto cost = nk::cost<nk::train_step<model, nk::adamw>>;
