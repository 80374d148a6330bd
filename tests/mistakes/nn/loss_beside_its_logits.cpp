// expect: a function of a model (its loss) must return what operations on its inputs and parameters
// facts: std::pair | label
#include <napkin/napkin.hpp>
#include <utility>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct label : nk::dim<"label", 10> {};

#ifdef MISTAKE
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<label>, bias));
  constexpr auto loss(nk::input<nk::f32, batch, label> x, nk::input<nk::u8, batch> labels) const {
    return std::pair(nk::cross_entropy<"label">(x + bias, labels), x + bias);
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#else
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<label>, bias));
  constexpr auto loss(nk::input<nk::f32, batch, label> x, nk::input<nk::u8, batch> labels) const {
    return nk::cross_entropy<"label">(x + bias, labels);
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
#endif
