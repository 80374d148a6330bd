// expect: more than one size is unknown in an axis that is split
// facts: (heads width) | heads | has_size<8> | at_column<10>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width">(x);
#else
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 2>>(x);
#endif
  (void)y;
}
