// expect: matmul, dot, outer: they are of two operands
// facts: outer
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch>& x, const nk::tensor<nk::f32, hidden>& g) {
#ifdef MISTAKE
  auto y = nk::outer(x);
#else
  auto y = nk::outer(x, g);
#endif
  (void)y;
}
