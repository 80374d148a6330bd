// expect: grad: takes a function, and gives one that is called with the arguments
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x) {
  constexpr auto squares = [](auto a) { return nk::sum(a * a); };
#ifdef MISTAKE
  const auto [value, slope] = nk::value_and_grad(squares, x);
#else
  const auto [value, slope] = nk::value_and_grad(squares)(x);
#endif
  (void)value, (void)slope;
}
