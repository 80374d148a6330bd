// expect: an expression is not computed before it is assigned
// facts: batch, hidden
#include <iostream>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  std::cout << x + x;
#else
  std::cout << nk::eval(x + x);
#endif
  (void)x;
}
