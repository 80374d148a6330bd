// expect: rotary: the axis is turned in pairs, so its size must be even
#include "napkin/nn/rotary.hpp"

namespace nk = napkin;

struct seq : nk::dim<"seq", 4> {};
#ifdef MISTAKE
struct hidden : nk::dim<"hidden", 7> {};
#else
struct hidden : nk::dim<"hidden", 8> {};
#endif

void f(const nk::tensor<nk::f32, seq, hidden>& x) {
  auto y = 2 * nk::rotary<"seq", "hidden">(x);
  (void)y;
}
