// expect: a tensor on the GPU has no axis that is sized at run time
// facts: batch
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, seq>&) {
#ifdef MISTAKE
  nk::cuda::tensor<nk::f32, nk::dim<"batch", nk::up_to<64>>, seq> z;
  (void)z;
#else
  nk::cuda::tensor<nk::f32, nk::dim<"batch", 64>, seq> z;
  (void)z;
#endif
}
