// expect: grad: only floating values have gradients
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x, const nk::tensor<nk::i32, embed>& mask) {
  constexpr auto total = [](auto v, auto m) { return nk::sum(nk::where(m == 0, v, 0)); };
#ifdef MISTAKE
  auto g = nk::grad<1>(total)(x, mask);
#else
  auto g = nk::grad<0>(total)(x, mask);
#endif
  (void)g;
}
