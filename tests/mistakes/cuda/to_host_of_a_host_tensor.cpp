// expect: this is there already
// facts: to_host | batch, seq
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  auto z = nk::to_host(x);
  (void)z;
#else
  auto z = nk::to_host(nk::to_cuda(x));
  (void)z;
#endif
}
