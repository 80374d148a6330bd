// expect: grad: gradients of gradients are not supported
// facts: state
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct state : nk::dim<"state", 8> {};

void f() {
  const auto x = nk::ones<nk::f32, state>();
  const auto slope = nk::grad([](auto a) { return nk::sum(a * a * a); });
#ifdef MISTAKE
  nk::tensor y = nk::fn(slope)(x);
#else
  nk::tensor y = slope(x);
#endif
  (void)y;
}
