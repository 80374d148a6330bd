// expect: a label is the name of a different axis of this operand
// facts: seq | batch | at_column<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"seq batch hidden -> batch seq hidden">(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> seq batch hidden">(x);
#endif
  (void)y;
}
