// expect: a new axis is said by its type, which has its size
// facts: window | seq | 3
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct taps : nk::dim<"taps", 3> {};

void f() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::window<"seq", 3>(x);
#else
  nk::tensor y = nk::window<"seq", taps>(x);
#endif
  (void)y;
}
