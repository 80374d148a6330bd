// The number of heads was changed, and the old one left.
// expect: two sizes are given for one label
// facts: heads | has_size<2> | but_size<4>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 2>,
                         nk::dim<"heads", 4>>(x);
#else
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 4>>(x);
#endif
  (void)y;
}
