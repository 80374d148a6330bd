// expect: transpose: two axes change places, each a string of its own
// facts: hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::transpose<"hidden", "batch", "seq">(x);
#else
  auto y = nk::permute<"hidden", "batch", "seq">(x);
#endif
  (void)y;
}
