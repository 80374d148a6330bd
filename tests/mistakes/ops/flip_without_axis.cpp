// expect: an axis is said by its name, a string between angle brackets
// facts: flip
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::flip(x);
#else
  auto y = nk::flip<"hidden">(x);
#endif
  (void)y;
}
