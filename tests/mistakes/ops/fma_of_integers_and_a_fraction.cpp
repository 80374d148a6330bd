// expect: a floating-point number beside integers would lose its fraction
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i32, batch, seq>& x) {
#ifdef MISTAKE
  auto y = nk::fma(x, 2, 0.5);
#else
  auto y = nk::fma(nk::cast<nk::f32>(x), 2, 0.5);
#endif
  (void)y;
}
