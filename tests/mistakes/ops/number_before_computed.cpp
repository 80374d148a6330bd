// expect: an expression is not computed before it is assigned
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  nk::f32 y = nk::mean(x);
#else
  nk::f32 y = nk::eval(nk::mean(x));
#endif
  (void)y;
}
