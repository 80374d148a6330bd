// expect: rename: the new name stands behind the axis
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rename<"seq">(x);
#else
  auto y = nk::rename<"seq", "key">(x);
#endif
  (void)y;
}
