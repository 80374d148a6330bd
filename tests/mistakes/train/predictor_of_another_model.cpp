// expect: predictor, generator: these are parameters of a model that has others, by name, sizes or order
// facts: type<
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};
struct wide : nk::dim<"embed", 32> {};

template <class Embed>
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<Embed>, weight));
  constexpr auto scores(nk::input<nk::f32, batch, Embed> x) const { return x * weight; }
  constexpr auto loss(nk::input<nk::f32, batch, Embed> x) const { return nk::mean(scores(x)); }
};
using trained = nk::trainer<nk::train_step<model<embed>, nk::sgd>>;

#ifdef MISTAKE
using scorer = nk::predictor<model<wide>, &model<wide>::scores>;
scorer f(const trained& t) { return scorer(t.value_pointers()); }
#else
using scorer = nk::predictor<model<embed>, &model<embed>::scores>;
scorer f(const trained& t) { return scorer(t.value_pointers()); }
#endif
