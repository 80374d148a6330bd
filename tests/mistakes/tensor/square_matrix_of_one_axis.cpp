// expect: tensor: two axes bear one name
// facts: hidden
#include <iostream>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::ones<nk::f32, hidden, hidden>();
#else
  auto y = nk::ones<nk::f32, hidden, nk::primed<hidden>>();
#endif
  std::cout << y << y.numel();
}
