// expect: param: parameters are f32
#include "napkin/napkin.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

struct model {
#ifdef MISTAKE
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<nk::f32, hidden, out>, weight));
#else
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
#endif
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(nk::matmul(x, weight)); }
};

int main() { nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1}); }
