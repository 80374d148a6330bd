// expect: grad: takes tensors on the host
// facts: given<0
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
