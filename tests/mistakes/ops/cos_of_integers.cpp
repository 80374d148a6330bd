// expect: are of floating-point numbers: write cast<f32>(x) first
// facts: i8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i8, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::cos(tokens);
#else
  auto y = nk::cos(nk::cast<nk::f32>(tokens));
#endif
  (void)y;
}
