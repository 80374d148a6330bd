// expect: grad: gradients of tensors on the GPU are computed there
// facts: seq
// only: gcc clang
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::cuda::tensor<nk::f32, seq>& y) {
  const auto squares = nk::grad([](auto x) { return nk::sum(x * x); });
#ifdef MISTAKE
  auto g = squares(y);
#else
  auto g = squares(nk::to_host(y));
#endif
  (void)g;
}
