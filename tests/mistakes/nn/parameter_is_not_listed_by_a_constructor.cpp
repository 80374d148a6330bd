// expect: not reflected: a parameter or a layer is declared beside BOOST_HANA_DEFINE_STRUCT
#include <napkin/napkin.hpp>
namespace nk = napkin;

struct in : nk::dim<"in", 3> {};
struct out : nk::dim<"out", 2> {};

// A constructor hides from the compiler how many members there are.
struct model {
#ifdef MISTAKE
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, out>, weight));
  nk::param<out> bias;
#else
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, out>, weight), (nk::param<out>, bias));
#endif
  double table[8] = {1, 2, 3};  // no parameter: may stand beside the list

  constexpr model() { weight.initial = nk::init::zeros(); }
  constexpr auto loss(nk::input<nk::f32, in> x) const { return nk::mean(nk::matmul(x, weight) + bias); }
};

int main() { nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1}); }
