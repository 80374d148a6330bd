// expect: a new axis is said by its type, which has its size
// facts: window | taps
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct taps : nk::dim<"taps", 3> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::window<"seq", "taps">(x);
#else
  nk::tensor y = nk::window<"seq", taps>(x);
#endif
}
