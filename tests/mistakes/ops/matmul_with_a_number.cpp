// expect: matmul, dot, outer: they are of two operands
// facts: matmul | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::matmul(x, 2);
#else
  auto y = x * 2;
#endif
  (void)y;
}
