// expect: compute_in<f8>: a step in 8-bit floats runs on the CPU, which emulates them
// expect: on a GPU, compute in bf16
// facts: model
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<nk::dim<"out", 4>>, weight));
  constexpr auto loss(nk::input<nk::f32, nk::dim<"out", 4>> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::f8>>;

#ifdef MISTAKE
nk::trainer<step, nk::cuda> trainer(nk::seed{1});
#else
nk::trainer<step> trainer(nk::seed{1});
#endif
