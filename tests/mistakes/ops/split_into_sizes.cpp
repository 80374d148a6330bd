// expect: a new axis is said by its type, which has its size
// facts: split | 2, 4
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct heads : nk::dim<"heads", 2> {};
struct width : nk::dim<"width", 4> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::split<"hidden", 2, 4>(x);
#else
  auto y = nk::split<"hidden", heads, width>(x);
#endif
  (void)y;
}
