// expect: window: not one window lies within the axis
// facts: seq | but_size<9>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct taps : nk::dim<"taps", 3> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::window<"seq", taps, 1, 1, 1, 4>(x);
#else
  nk::tensor y = nk::window<"seq", taps, 1, 1, 1, 3>(x);
#endif
}
