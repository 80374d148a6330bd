// expect: one axis name has two sizes in one expression
// facts: has_size<6> | but_size<3>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::exp(nk::slice<"seq", 0, 3>(row) * x) + 1;
#else
  auto y = nk::exp(row * x) + 1;
#endif
  (void)y;
}
