// expect: grad: no argument bears this name
// facts: weight
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x, const nk::tensor<nk::f32, embed>& w) {
  constexpr auto total = nk::fn<"x", "weights">([](auto a, auto b) { return nk::sum(a * b); });
#ifdef MISTAKE
  auto g = nk::grad<"weight">(total)(x, w);
#else
  auto g = nk::grad<"weights">(total)(x, w);
#endif
  (void)g;
}
