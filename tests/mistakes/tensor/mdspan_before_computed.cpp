// expect: an expression is not computed before it is assigned
// facts: seq | as_mdspan
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::as_mdspan(row * 2);
#else
  const nk::tensor x = row * 2;
  auto y = nk::as_mdspan(x);
#endif
  (void)y;
}
