// expect: an axis is said by its name, a string between angle brackets
// facts: flip | numbers<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::flip<0>(x);
#else
  auto y = nk::flip<"batch">(x);
#endif
  (void)y;
}
