// expect: assignment: the axes differ, by name, size or order
// facts: batch, seq | seq, batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  nk::tensor<nk::f32, seq, batch> y = x;
#else
  nk::tensor<nk::f32, batch, seq> y = x;
#endif
  y(0, 0) = 1;
}
