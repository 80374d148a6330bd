// expect: a tensor's axes differ from those of the input that it is for
// facts: embed, batch | batch, embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto scores(nk::input<nk::f32, batch, embed> x) const { return x * weight; }
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(scores(x)); }
};
using scorer = nk::predictor<model, &model::scores>;

#ifdef MISTAKE
void f(scorer& predict, const nk::tensor<nk::f32, embed, batch>& x) { predict(x); }
#else
void f(scorer& predict, const nk::tensor<nk::f32, batch, embed>& x) { predict(x); }
#endif
