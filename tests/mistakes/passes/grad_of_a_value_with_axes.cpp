// expect: grad: the function's value has axes; reduce it to a scalar
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x) {
#ifdef MISTAKE
  auto g = nk::grad([](auto v) { return nk::exp(v); })(x);
#else
  auto g = nk::grad([](auto v) { return nk::sum(nk::exp(v)); })(x);
#endif
  (void)g;
}
