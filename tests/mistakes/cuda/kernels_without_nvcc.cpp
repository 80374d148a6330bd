// expect: by kernels that are compiled with the line itself
// facts: batch, seq
// only: gcc clang
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, batch, seq>& y) {
#ifdef MISTAKE
  nk::cuda::tensor z = y + 1;
  (void)z;
#else
  auto z = y + 1;
  (void)z;
#endif
}
