// expect: the model has no constexpr auto loss(input<T, axes...>...) const
// facts: model
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

#ifdef MISTAKE
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x, int n) const { return nk::mean(x * weight) * n; }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
