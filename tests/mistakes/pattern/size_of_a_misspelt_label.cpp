// expect: a size is given for a label that is not in the pattern
// facts: head | has_size<2> | heads
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"head", 2>>(x);
#else
  auto y = nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 2>>(x);
#endif
  (void)y;
}
