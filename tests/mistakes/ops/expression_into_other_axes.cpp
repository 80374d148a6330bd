// expect: assignment: the axes differ, by name, size or order
// facts: batch, seq, hidden | seq, batch, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  nk::tensor<nk::f32, seq, batch, hidden> y = nk::exp(x);
#else
  nk::tensor<nk::f32, seq, batch, hidden> y = nk::permute<"seq", "batch", "hidden">(nk::exp(x));
#endif
  (void)y;
}
