// expect: rule_6nd is asked of a train_step<...>, which says how many parameters and tokens it has
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
    return nk::mse(nk::dot<"in">(x, weight), y);
  }
};
void f() {
#ifdef MISTAKE
  constexpr auto counts = nk::conventions::rule_6nd<model>;
#else
  constexpr auto counts = nk::conventions::rule_6nd<nk::train_step<model, nk::adamw>>;
#endif
  (void)counts;
}
