// expect: a floating-point number beside integers would lose its fraction
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = tokens * 0.5;
#else
  auto y = nk::cast<nk::f32>(tokens) * 0.5;
#endif
  (void)y;
}
