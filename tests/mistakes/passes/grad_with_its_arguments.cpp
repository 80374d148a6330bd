// expect: grad: takes a function, and gives one that is called with the arguments
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x) {
  constexpr auto squares = [](auto a) { return nk::sum(a * a); };
#ifdef MISTAKE
  nk::tensor y = nk::grad(squares, x);
#else
  nk::tensor y = nk::grad(squares)(x);
#endif
  (void)y;
}
