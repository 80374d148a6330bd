// expect: the operands differ in dtype and nothing is promoted unasked
// facts: f32 | i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& losses, const nk::tensor<nk::i32, batch>& lengths) {
#ifdef MISTAKE
  auto y = nk::sum<"seq">(losses) / lengths;
#else
  auto y = nk::sum<"seq">(losses) / nk::cast<nk::f32>(lengths);
#endif
  (void)y;
}
