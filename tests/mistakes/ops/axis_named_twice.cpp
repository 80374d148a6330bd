// expect: one axis is named twice in one call
// facts: seq | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::transpose<"seq", "seq">(x);
#else
  auto y = nk::transpose<"seq", "batch">(x);
#endif
  (void)y;
}
