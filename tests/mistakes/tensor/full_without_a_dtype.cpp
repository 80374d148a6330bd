// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

#ifdef MISTAKE
auto x = nk::full<batch>(1);
#else
auto x = nk::full<nk::f32, batch>(1);
#endif
