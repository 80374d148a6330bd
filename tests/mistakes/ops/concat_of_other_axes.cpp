// expect: concat: apart from the axis along which they are joined
// facts: batch, seq, hidden | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::concat<"seq">(x, row);
#else
  auto y = nk::concat<"seq">(x, x);
#endif
  (void)y;
}
