// expect: an axis is said by its name, a string between angle brackets
// facts: concat | numbers<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::concat<0>(x, x);
#else
  auto y = nk::concat<"batch">(x, x);
#endif
  (void)y;
}
