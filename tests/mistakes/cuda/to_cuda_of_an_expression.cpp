// expect: an expression is not computed before it is assigned
// facts: to_cuda
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  auto z = nk::to_cuda(x * x);
  (void)z;
#else
  auto z = nk::to_cuda(nk::eval(x * x));
  (void)z;
#endif
}
