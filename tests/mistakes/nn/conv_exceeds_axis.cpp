// expect: not one window lies within the axis
// facts: height | 4 | 5
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct height : nk::dim<"height", 4> {};
struct channel : nk::dim<"channel", 1> {};
struct feature : nk::dim<"feature", 8> {};
struct tap : nk::dim<"tap", 5> {};

struct model {
#ifdef MISTAKE
  using layer = nk::nn::conv<channel, feature, nk::nn::along<height, tap, 1, 0>>;
  BOOST_HANA_DEFINE_STRUCT(model, (layer, edges));
  constexpr auto loss(nk::input<nk::f32, batch, height, channel> x) const { return nk::mean(edges(x)); }
#else
  using layer = nk::nn::conv<channel, feature, nk::nn::along<height, tap>>;
  BOOST_HANA_DEFINE_STRUCT(model, (layer, edges));
  constexpr auto loss(nk::input<nk::f32, batch, height, channel> x) const { return nk::mean(edges(x)); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
