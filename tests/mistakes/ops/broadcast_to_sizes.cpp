// expect: a new axis is said by its type, which has its size
// facts: broadcast_to | 4
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::broadcast_to<4, 8>(x);
#else
  auto y = nk::broadcast_to<batch, hidden>(x);
#endif
  (void)y;
}
