// expect: not reflected: a parameter or a layer is declared beside BOOST_HANA_DEFINE_STRUCT
// facts: type<model>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct in : nk::dim<"in", 3> {};
struct out : nk::dim<"out", 2> {};

// A constructor hides from the compiler how many members there are.
#ifdef MISTAKE
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, out>, weight));
  nk::param<out> bias;
  double table[8] = {1, 2, 3};  // no parameter: may stand beside the list

  constexpr model() { weight.initial = nk::init::zeros(); }
  constexpr auto loss(nk::input<nk::f32, in> x) const { return nk::mean(nk::matmul(x, weight) + bias); }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, out>, weight), (nk::param<out>, bias));
  double table[8] = {1, 2, 3};  // no parameter: may stand beside the list

  constexpr model() { weight.initial = nk::init::zeros(); }
  constexpr auto loss(nk::input<nk::f32, in> x) const { return nk::mean(nk::matmul(x, weight) + bias); }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
