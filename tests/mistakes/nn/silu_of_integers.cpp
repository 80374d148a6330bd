// expect: are of floating-point numbers: write cast<f32>(x) first
// facts: i16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i16, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::silu(tokens);
#else
  auto y = nk::silu(nk::cast<nk::f32>(tokens));
#endif
  (void)y;
}
