// expect: this is there already
// facts: to_cuda
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, batch, seq>& y) {
#ifdef MISTAKE
  auto z = nk::to_cuda(y);
  (void)z;
#else
  auto z = nk::to_host(y);
  (void)z;
#endif
}
