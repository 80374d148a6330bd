// expect: are of floating-point numbers: write cast<f32>(x) first
// facts: u16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::u16, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::floor(tokens);
#else
  auto y = nk::floor(nk::cast<nk::f32>(tokens));
#endif
  (void)y;
}
