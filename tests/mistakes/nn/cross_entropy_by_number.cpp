// expect: an axis is said by its name, a string between angle brackets
// facts: cross_entropy | numbers<1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct vocab : nk::dim<"vocab", 11> {};

void f() {
  auto x = nk::ones<nk::f32, batch, vocab>();
  auto i = nk::zeros<nk::i32, batch>();
#ifdef MISTAKE
  auto y = nk::cross_entropy<1>(x, i);
#else
  auto y = nk::cross_entropy<"vocab">(x, i);
#endif
  (void)y;
}
