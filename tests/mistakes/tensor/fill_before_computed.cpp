// expect: an expression is not computed before it is assigned
// facts: seq | fill
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  nk::fill(row * 2, 1);
#else
  nk::fill(row, 1);
#endif
}
