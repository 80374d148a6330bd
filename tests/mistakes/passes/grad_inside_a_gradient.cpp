// expect: grad: gradients of gradients are not supported
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct state : nk::dim<"state", 8> {};

void f() {
  const auto x = nk::ones<nk::f32, state>();
  const auto cubes = [](auto a) { return nk::sum(a * a * a); };
#ifdef MISTAKE
  const auto norm = [](auto a) {
    const auto g = nk::grad([](auto b) { return nk::sum(b * b * b); })(a);
    return nk::sum(g * g);
  };
  nk::tensor y = nk::grad(norm)(x);
#else
  nk::tensor y = nk::grad(cubes)(x);
#endif
  (void)y, (void)cubes;
}
