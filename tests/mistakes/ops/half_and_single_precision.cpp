// expect: the operands differ in dtype and nothing is promoted unasked
// facts: f32 | f16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x,
       const nk::tensor<nk::f16, batch, seq, hidden>& half) {
#ifdef MISTAKE
  auto y = x + half;
#else
  auto y = x + nk::cast<nk::f32>(half);
#endif
  (void)y;
}
