// expect: slice: both ends stand beside the axis
// facts: hidden | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::slice<"hidden">(x, 0, 4);
#else
  auto y = nk::slice<"hidden", 0, 4>(x);
#endif
  (void)y;
}
