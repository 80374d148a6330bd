// expect: grad: the function is called with fewer arguments
// facts: expected<2> | given<2>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x, const nk::tensor<nk::f32, embed>& w) {
  constexpr auto total = [](auto a, auto b) { return nk::sum(a * b); };
#ifdef MISTAKE
  auto g = nk::grad<2>(total)(x, w);
#else
  auto g = nk::grad<1>(total)(x, w);
#endif
  (void)g;
}
