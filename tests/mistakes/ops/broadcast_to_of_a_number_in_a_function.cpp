// expect: broadcast_to: a number has no dtype
// facts: batch, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto a) { return a + nk::broadcast_to<batch, hidden>(2); })(x);
#else
  nk::tensor y = nk::fn([](auto a) { return a + nk::broadcast_to<batch, hidden>(nk::number_like(a, 2)); })(x);
#endif
  (void)y;
}
