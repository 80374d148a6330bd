// expect: the axes differ from those declared
// facts: batch, hidden | batch, out
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 3> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto penalty(nk::input<nk::f32, batch, out> y) const { return nk::mean(y * y); }
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const {
#ifdef MISTAKE
    return penalty(x);
#else
    return penalty(nk::dot<"hidden">(x, weight));
#endif
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
