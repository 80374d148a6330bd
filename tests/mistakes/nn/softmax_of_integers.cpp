// expect: are of floating-point numbers
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::i32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::softmax<"hidden">(x);
#else
  auto y = nk::softmax<"hidden">(nk::cast<nk::f32>(x));
#endif
  (void)y;
}
