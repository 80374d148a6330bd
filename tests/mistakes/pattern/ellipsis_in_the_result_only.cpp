// expect: '...' stands in the result but in no operand
// facts: at_column
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::rearrange<"seq -> ... seq">(row);
#else
  auto y = nk::rearrange<"... -> ...">(row);
#endif
  (void)y;
}
