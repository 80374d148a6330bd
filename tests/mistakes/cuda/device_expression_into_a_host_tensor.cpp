// expect: assignment: the value is on the GPU and the tensor on the host
// facts: batch, seq
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, batch, seq>& y) {
#ifdef MISTAKE
  nk::tensor<nk::f32, batch, seq> z = y * 2;
  (void)z;
#else
  nk::tensor<nk::f32, batch, seq> z = nk::to_host(y) * 2;
  (void)z;
#endif
}
