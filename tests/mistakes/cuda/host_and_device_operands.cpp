// expect: one operand is on the host and another on the GPU
// facts: on_the_host<0 | on_the_device<1
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x, const nk::cuda::tensor<nk::f32, batch, seq>& y) {
#ifdef MISTAKE
  auto z = x + y;
  (void)z;
#else
  auto z = nk::to_cuda(x) + y;
  (void)z;
#endif
}
