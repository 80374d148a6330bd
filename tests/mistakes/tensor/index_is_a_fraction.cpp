// expect: indices are integers
// facts: double
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = row(0.5);
#else
  auto y = row(0);
#endif
  (void)y;
}
