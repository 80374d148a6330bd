// expect: an expression is not computed before it is assigned
// facts: seq | clone
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::clone(row * 2);
#else
  auto y = nk::eval(row * 2);
#endif
  (void)y;
}
