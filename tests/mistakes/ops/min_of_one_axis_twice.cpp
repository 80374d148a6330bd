// expect: one axis is named twice in one call
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::min<"seq", "seq">(x);
#else
  auto y = nk::min<"seq", "hidden">(x);
#endif
  (void)y;
}
