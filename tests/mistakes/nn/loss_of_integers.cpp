// expect: the loss of a model must be one floating-point number
// facts: i64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

#ifdef MISTAKE
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const {
    return nk::sum(nk::cast<nk::i32>(nk::matmul(x, weight)));
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(nk::matmul(x, weight)); }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
