// expect: the pattern and the operand have different numbers of axes
// facts: pattern_has<2> | call_has<3> | at_column<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq -> seq batch">(x);
#else
  auto y = nk::rearrange<"batch seq ... -> seq batch ...">(x);
#endif
  (void)y;
}
