// What lies before the axis and what lies behind it are two things.
// expect: a second '...' in one operand or in the result
// facts: rearrange | at_column<8>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"... seq ... -> seq ...">(x);
#else
  auto y = nk::rearrange<"batch seq ... -> seq batch ...">(x);
#endif
  (void)y;
}
