// expect: a label is missing in the result; only reduce drops axes
// facts: hidden | at_column<10>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::rearrange<"batch seq hidden -> seq batch">(x);
#else
  nk::tensor y = nk::reduce<"batch seq hidden -> seq batch", "sum">(x);
#endif
  (void)y;
}
