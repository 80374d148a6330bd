// expect: a tensor of axes takes no number: full<f32, axes...>(2) is a tensor of it
// facts: batch | embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

auto f(nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  x = 2;
#else
  nk::fill(x, 2);
#endif
}
