// expect: dropout(x, rate, noise): the noise says what is dropped
// facts: traced
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden>, weight));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const {
    return nk::mean(nk::dropout(x, 0.1) * weight);
  }
#else
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x, nk::input<nk::i64> noise) const {
    return nk::mean(nk::dropout(x, 0.1, noise) * weight);
  }
#endif
};
using step = nk::train_step<model, nk::adamw>;
void f(nk::trainer<step>&);
