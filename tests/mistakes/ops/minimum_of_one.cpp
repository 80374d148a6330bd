// expect: they are of two operands, element by element
// facts: minimum | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::minimum(x);
#else
  auto y = nk::min<"hidden">(x);
#endif
  (void)y;
}
