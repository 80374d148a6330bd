// expect: not reflected: a parameter or a layer is declared beside BOOST_HANA_DEFINE_STRUCT
// facts: type<layer> | expected<2> | given<1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct in : nk::dim<"in", 3> {};
struct out : nk::dim<"out", 2> {};

#ifdef MISTAKE
struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (nk::param<in, out>, weight));
  nk::param<out> bias;
  float epsilon = 1e-5f;  // no parameter: may stand beside the list
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (layer, first));
  constexpr auto loss(nk::input<nk::f32, in> x) const {
    return nk::mean(nk::matmul(x, first.weight) + first.bias);
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (nk::param<in, out>, weight), (nk::param<out>, bias));
  float epsilon = 1e-5f;  // no parameter: may stand beside the list
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (layer, first));
  constexpr auto loss(nk::input<nk::f32, in> x) const {
    return nk::mean(nk::matmul(x, first.weight) + first.bias);
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
