// expect: rotary: the axis is turned in pairs, so its size must be even
// facts: odd | 7
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 4> {};
struct odd : nk::dim<"odd", 7> {};
struct even : nk::dim<"even", 8> {};

void f(const nk::tensor<nk::f32, seq, odd>& x, const nk::tensor<nk::f32, seq, even>& y) {
#ifdef MISTAKE
  auto z = 2 * nk::rotary<"seq", "odd">(x);
#else
  auto z = 2 * nk::rotary<"seq", "even">(y);
#endif
  (void)x, (void)y, (void)z;
}
