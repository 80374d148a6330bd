// expect: dim: the size of an axis is a number of elements: none or more
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

#ifdef MISTAKE
struct seq : nk::dim<"seq", -1> {};
#else
struct seq : nk::dim<"seq", 6> {};
#endif

void f() {
  auto x = nk::zeros<nk::f32, seq>();
  (void)x;
}
