// expect: the axes differ from those declared
// facts: batch, out | out, batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 3> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const {
#ifdef MISTAKE
    const nk::input<nk::f32, out, batch> y = nk::dot<"hidden">(x, weight);
#else
    const nk::input<nk::f32, batch, out> y = nk::dot<"hidden">(x, weight);
#endif
    return nk::mean(nk::gelu(y));
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
