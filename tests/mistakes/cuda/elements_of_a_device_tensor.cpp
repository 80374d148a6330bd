// expect: a tensor on the GPU has its elements there
// facts: batch
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, batch, seq>& y) {
#ifdef MISTAKE
  float z = y(0, 1);
  (void)z;
#else
  float z = nk::to_host(y)(0, 1);
  (void)z;
#endif
}
