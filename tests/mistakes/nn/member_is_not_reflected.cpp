// expect: not reflected: a member of the model is a class whose own members nothing lists
// facts: type<scale>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

#ifdef MISTAKE
struct scale {
  nk::param<embed> by;
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (scale, layer));
  constexpr auto loss(nk::input<nk::f32, embed> x) const { return nk::mean(x * layer.by); }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct scale {
  BOOST_HANA_DEFINE_STRUCT(scale, (nk::param<embed>, by));
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (scale, layer));
  constexpr auto loss(nk::input<nk::f32, embed> x) const { return nk::mean(x * layer.by); }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
