// expect: not reflected: a parameter or a layer is declared beside BOOST_HANA_DEFINE_STRUCT
#include <napkin/napkin.hpp>
namespace nk = napkin;

struct in : nk::dim<"in", 3> {};
struct out : nk::dim<"out", 2> {};

struct layer {
#ifdef MISTAKE
  BOOST_HANA_DEFINE_STRUCT(layer, (nk::param<in, out>, weight));
  nk::param<out> bias;
#else
  BOOST_HANA_DEFINE_STRUCT(layer, (nk::param<in, out>, weight), (nk::param<out>, bias));
#endif
  float epsilon = 1e-5f;  // no parameter: may stand beside the list
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (layer, first));

  constexpr auto loss(nk::input<nk::f32, in> x) const {
    return nk::mean(nk::matmul(x, first.weight) + first.bias);
  }
};

int main() { nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1}); }
