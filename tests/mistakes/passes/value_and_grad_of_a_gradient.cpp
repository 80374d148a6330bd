// expect: grad: gradients of gradients are not supported
// facts: double
#include <napkin/napkin.hpp>

namespace nk = napkin;

void f() {
  const auto slope = nk::grad([](auto x) { return x * x * x; });
#ifdef MISTAKE
  const auto [value, gradient] = nk::value_and_grad(slope)(2.0);
#else
  const auto [value, gradient] = nk::value_and_grad([](auto x) { return x * x * x; })(2.0);
#endif
  (void)value, (void)gradient, (void)slope;
}
