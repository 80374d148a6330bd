// expect: behind the model stands an optimizer, train_step<model, adamw>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};

#ifdef MISTAKE
constexpr auto cost = nk::cost<nk::train_step<model>>;
#else
constexpr auto cost = nk::cost<nk::train_step<model, nk::sgd>>;
#endif
