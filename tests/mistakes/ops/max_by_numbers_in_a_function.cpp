// expect: an axis is said by its name, a string between angle brackets
// facts: max | numbers<0, 1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto z) { return nk::max<0, 1>(z); })(x);
#else
  nk::tensor y = nk::fn([](auto z) { return nk::max<"batch", "hidden">(z); })(x);
#endif
  (void)y;
}
