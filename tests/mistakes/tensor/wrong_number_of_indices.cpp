// expect: x(i, j, ...) needs one index for each axis
// facts: expected<2> | given<1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

float f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  return x(1);
#else
  return x(1, 2);
#endif
}
