// expect: fn: the function must hold nothing
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x, float factor) {
#ifdef MISTAKE
  auto y = nk::fn([factor](auto v) { return nk::exp(factor * v); })(x);
#else
  auto y = nk::fn([](auto v, auto by) { return nk::exp(by * v); })(x, factor);
#endif
  (void)y;
}
