// expect: numbers over 1 may stand only left in reduce and right in repeat
// facts: at_column
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::rearrange<"seq -> seq 2">(row);
#else
  auto y = nk::repeat<"seq -> seq 2">(row);
#endif
  (void)y;
}
