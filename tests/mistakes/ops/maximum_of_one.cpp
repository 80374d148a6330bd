// expect: they are of two operands, element by element
// facts: maximum | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::maximum(x);
#else
  auto y = nk::max<"hidden">(x);
#endif
  (void)y;
}
