// expect: assignment: the value is on the host and the tensor on the GPU
// facts: batch, seq
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  nk::cuda::tensor z = x;
  (void)z;
#else
  nk::cuda::tensor z = nk::to_cuda(x);
  (void)z;
#endif
}
