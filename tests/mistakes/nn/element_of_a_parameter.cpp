// expect: a traced function (a loss, what fn or grad are given) has no elements yet
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const {
#ifdef MISTAKE
    return nk::mean(x * weight(3));
#else
    return nk::mean(x * nk::index<"embed", 3>(weight));
#endif
  }
};
constexpr auto cost = nk::cost<nk::train_step<model, nk::adamw>>;
