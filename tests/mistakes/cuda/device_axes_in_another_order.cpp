// expect: assignment: the axes differ, by name, size or order
// facts: batch, seq | seq, batch
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, batch, seq>& y) {
#ifdef MISTAKE
  nk::cuda::tensor<nk::f32, seq, batch> z = y;
  (void)z;
#else
  nk::cuda::tensor<nk::f32, batch, seq> z = y;
  (void)z;
#endif
}
