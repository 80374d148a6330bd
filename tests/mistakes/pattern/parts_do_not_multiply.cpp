// Both sizes are given, and the width is that of another model.
// expect: the sizes of the parts do not multiply to the size of the axis that is split
// facts: (heads width) | has_size<8> | but_size<6> | at_column<10>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 2>,
                         nk::dim<"width", 3>>(x);
#else
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 2>,
                         nk::dim<"width", 4>>(x);
#endif
  (void)y;
}
