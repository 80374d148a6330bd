// The heads are there already, under the dots.
// expect: '...' stands for an axis that is also a label of the pattern
// facts: repeat | heads | at_column<7>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct heads : nk::dim<"heads", 2> {};
struct seq : nk::dim<"seq", 6> {};
struct width : nk::dim<"width", 4> {};

void f(const nk::tensor<nk::f32, batch, heads, seq, width>& x) {
#ifdef MISTAKE
  auto y = nk::repeat<"... -> heads ...", nk::dim<"heads", 2>>(x);
#else
  auto y = nk::repeat<"... -> groups ...", nk::dim<"groups", 2>>(x);
#endif
  (void)y;
}
