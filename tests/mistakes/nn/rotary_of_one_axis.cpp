// expect: rotary: it takes the axis of positions
// facts: hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rotary<"hidden">(x);
#else
  auto y = nk::rotary<"seq", "hidden">(x);
#endif
  (void)y;
}
