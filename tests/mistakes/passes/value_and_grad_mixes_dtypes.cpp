// expect: the operands differ in dtype and nothing is promoted unasked
// facts: f64 | f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct hidden : nk::dim<"hidden", 4> {};

int main() {
  auto x = nk::ones<nk::f32, hidden>();
  auto w = nk::ones<nk::f64, hidden>();
#ifdef MISTAKE
  auto vg = nk::value_and_grad([](auto a, auto b) { return nk::sum(a * b); })(x, w);
#else
  auto vg = nk::value_and_grad([](auto a, auto b) { return nk::sum(a * nk::cast<nk::f32>(b)); })(x, w);
#endif
  (void)vg;
}
