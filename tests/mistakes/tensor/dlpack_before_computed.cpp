// expect: an expression is not computed before it is assigned
// facts: seq | to_dlpack
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::to_dlpack(row * 2);
#else
  auto y = nk::to_dlpack(nk::eval(row * 2));
#endif
  (void)y;
}
