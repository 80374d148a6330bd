// The axis was composed of 2 heads and comes apart into 4.
// expect: a composed axis does not come apart like this
// facts: (heads width) | has_size<8> | at_column<10>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct heads : nk::dim<"heads", 2> {};
struct width : nk::dim<"width", 4> {};

void f(const nk::tensor<nk::f32, batch, heads, seq, width>& x) {
#ifdef MISTAKE
  auto flat = nk::rearrange<"batch heads seq width -> batch seq (heads width)">(x);
  auto y = nk::rearrange<"batch seq (heads width) -> batch seq heads width", nk::dim<"heads", 4>>(flat);
#else
  auto flat = nk::rearrange<"batch heads seq width -> batch seq (heads width)">(x);
  auto y = nk::rearrange<"batch seq (heads width) -> batch seq heads width">(flat);
#endif
  (void)y;
}
