// expect: the function must hold nothing
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x, float factor) {
#ifdef MISTAKE
  auto g = nk::grad([factor](auto v) { return nk::sum(v * v * factor); })(x);
#else
  auto g = nk::grad([](auto v, auto by) { return nk::sum(v * v * by); })(x, factor);
#endif
  (void)g;
}
