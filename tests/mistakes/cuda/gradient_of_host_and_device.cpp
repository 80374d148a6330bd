// expect: one operand is on the host and another on the GPU
// facts: on_the_host<0 | on_the_device<1
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& x, const nk::cuda::tensor<nk::f32, seq>& y) {
  const auto slope = nk::grad<1>([](auto a, auto b) { return nk::sum(a * b); });
#ifdef MISTAKE
  auto g = slope(x, y);
#else
  auto g = slope(x, nk::to_host(y));
#endif
  (void)g;
}
