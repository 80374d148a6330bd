// expect: window: not one window lies within the axis
// facts: seq | but_size<7>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::max_pool<7, "seq">(x);
#else
  nk::tensor y = nk::max_pool<2, "seq">(x);
#endif
}
