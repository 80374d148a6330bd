// expect: an expression is not computed before it is assigned
// facts: batch, hidden | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
  auto e = x + x;
#ifdef MISTAKE
  nk::f32 y = e(0, 1);
#else
  nk::f32 y = nk::eval(e)(0, 1);
#endif
  (void)y;
}
