// expect: no argument bears this name
// facts: weight
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};

int main() {
  auto x = nk::ones<nk::f32, batch>();
  auto w = nk::ones<nk::f32, batch>();
  auto loss = nk::fn<"x", "w">([](auto a, auto b) { return nk::sum(a * b); });
#ifdef MISTAKE
  auto [value, dw] = nk::value_and_grad<"weight">(loss)(x, w);
#else
  auto [value, dw] = nk::value_and_grad<"w">(loss)(x, w);
#endif
  (void)value, (void)dw;
}
