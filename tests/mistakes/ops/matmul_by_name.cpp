// expect: matmul: it sums over the first operand's last axis
// facts: hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::matmul<"hidden">(x, x);
#else
  auto y = nk::dot<"hidden">(x, x);
#endif
  (void)y;
}
