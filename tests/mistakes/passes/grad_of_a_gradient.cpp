// expect: grad: gradients of gradients are not supported
// facts: double
#include <napkin/napkin.hpp>

namespace nk = napkin;

double f() {
  const auto slope = nk::grad([](auto x) { return x * x * x; });
#ifdef MISTAKE
  return nk::grad(slope)(2.0);
#else
  return slope(2.0);
#endif
}
