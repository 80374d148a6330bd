// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

#ifdef MISTAKE
auto x = nk::zeros<batch, nk::f32>();
#else
auto x = nk::zeros<nk::f32, batch>();
#endif
