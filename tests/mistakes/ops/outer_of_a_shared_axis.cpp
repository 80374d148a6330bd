// expect: outer: both operands have this axis
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::outer(row, row);
#else
  auto y = nk::outer(row, nk::rename<"seq", "seq'">(row));
#endif
  (void)y;
}
