// expect: broadcast_to: a number has no dtype
// facts: batch, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::broadcast_to<batch, hidden>(0.0f);
#else
  auto y = nk::full<nk::f32, batch, hidden>(0);
#endif
  (void)y;
}
