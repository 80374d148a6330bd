// expect: matmul: the first operand's last axis is what is summed, so it must have a name
// facts: batch, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32>& temperature, const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::matmul(temperature, x);
#else
  auto y = temperature * x;
#endif
  (void)y;
}
