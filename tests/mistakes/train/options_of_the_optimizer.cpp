// expect: trainer: the optimizer's own options stand in braces of their own
// facts: adamw
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::f32, in> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw>;

void f() {
#ifdef MISTAKE
  nk::trainer<step> t(nk::seed{1}, {.weight_decay = 0.1});
#else
  nk::trainer<step> t(nk::seed{1}, {.optimizer = {.weight_decay = 0.1}});
#endif
}
