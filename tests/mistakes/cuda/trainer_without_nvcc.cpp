// expect: trainer: a step on the GPU runs kernels that are compiled with the program
// facts: model
// only: gcc clang
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<nk::dim<"out", 4>>, weight));
  constexpr auto loss(nk::input<nk::f32, nk::dim<"out", 4>> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw>;

#ifdef MISTAKE
nk::trainer<step, nk::cuda> trainer(nk::seed{1});
#else
nk::trainer<step> trainer(nk::seed{1});
#endif
