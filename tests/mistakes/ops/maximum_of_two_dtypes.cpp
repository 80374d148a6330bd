// expect: the operands differ in dtype and nothing is promoted unasked
// facts: f32 | i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::maximum(x, tokens);
#else
  auto y = nk::maximum(x, nk::cast<nk::f32>(tokens));
#endif
  (void)y;
}
