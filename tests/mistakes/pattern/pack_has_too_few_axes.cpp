// expect: an operand has fewer axes than the pattern names beside '*'
// facts: pattern_has<3> | call_has<2> | at_column<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, batch, hidden>& row) {
#ifdef MISTAKE
  auto [y, shapes] = nk::pack<"batch seq hidden *">(x, row);
#else
  auto [y, shapes] = nk::pack<"batch * hidden">(x, row);
#endif
  (void)x, (void)row, (void)y;
}
