// expect: the function that fn or grad is given must return what operations on its arguments give
// facts: grad | type<double>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x) {
#ifdef MISTAKE
  auto g = nk::grad([](auto) { return 0.5; })(x);
#else
  auto g = nk::grad([](auto v) { return 0.5 * nk::sum(v * v); })(x);
#endif
  (void)g;
}
