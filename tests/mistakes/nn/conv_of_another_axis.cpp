// expect: the tensor has no axis of this name
// facts: channel | batch, height, down, width, across
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct height : nk::dim<"height", 28> {};
struct width : nk::dim<"width", 28> {};
struct channel : nk::dim<"channel", 1> {};
struct feature : nk::dim<"feature", 8> {};
struct down : nk::dim<"down", 3> {};
struct across : nk::dim<"across", 3> {};

struct model {
  using layer = nk::nn::conv<channel, feature, nk::nn::along<height, down>, nk::nn::along<width, across>>;
  BOOST_HANA_DEFINE_STRUCT(model, (layer, edges));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, height, width> x) const { return nk::mean(edges(x)); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, height, width, channel> x) const {
    return nk::mean(edges(x));
  }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
