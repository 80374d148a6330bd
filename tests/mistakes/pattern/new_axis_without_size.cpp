// expect: the result has a new axis whose size is not given
// facts: again | at_column<11>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::repeat<"seq -> seq again">(row);
#else
  auto y = nk::repeat<"seq -> seq again", nk::dim<"again", 2>>(row);
#endif
  (void)y;
}
