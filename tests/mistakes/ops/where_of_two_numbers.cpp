// expect: where: two numbers say no dtype
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::where(x > 0, 1, 0);
#else
  auto y = nk::where(x > 0, nk::full<nk::f32>(1), 0);
#endif
  (void)y;
}
