// expect: window: step and dilation must be at least 1
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct taps : nk::dim<"taps", 3> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::window<"seq", taps, 0>(x);
#else
  nk::tensor y = nk::window<"seq", taps, 2>(x);
#endif
}
