// expect: assignment: the axes differ, by name, size or order
// facts: batch | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x, const nk::tensor<nk::f32, batch>& row) {
#ifdef MISTAKE
  x[0] = row;
#else
  x[0] = x[1];
  (void)row;
#endif
}
