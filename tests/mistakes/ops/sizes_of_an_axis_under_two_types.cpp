// The C++ type is called otherwise than the axis.
// expect: one axis name has two sizes in one expression
// facts: batch | has_size<4> | but_size<8>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"batch", 4> {};
struct more_rows : nk::dim<"batch", 8> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, rows, seq>& x, const nk::tensor<nk::f32, more_rows>& weight) {
#ifdef MISTAKE
  auto y = x * weight;
#else
  auto y = x * nk::slice<"batch", 0, 4>(weight);
#endif
  (void)y;
}
