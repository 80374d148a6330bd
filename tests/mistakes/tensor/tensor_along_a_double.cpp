// expect: after the element type stand axes alone
// facts: double
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

#ifdef MISTAKE
nk::tensor<nk::f32, batch, double> x;
#else
nk::tensor<nk::f32, batch> x;
#endif
