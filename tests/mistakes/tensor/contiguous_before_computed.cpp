// expect: an expression is not computed before it is assigned
// facts: seq | contiguous
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::contiguous(row * 2);
#else
  auto y = nk::contiguous(nk::slice<"seq", 0, 4>(row));
#endif
  (void)y;
}
