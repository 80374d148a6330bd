// expect: the result would have two axes of one name
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::split<"hidden", nk::dim<"seq", 4>, nk::dim<"width", 2>>(x);
#else
  auto y = nk::split<"hidden", nk::dim<"heads", 4>, nk::dim<"width", 2>>(x);
#endif
  (void)y;
}
