// expect: after the pattern goes a reduction's name
// facts: half | 2
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch (half seq) hidden -> batch", nk::dim<"half", 2>>(x) + 1;
#else
  auto y = nk::reduce<"batch (half seq) hidden -> batch", "sum", nk::dim<"half", 2>>(x) + 1;
#endif
  (void)x, (void)y;
}
