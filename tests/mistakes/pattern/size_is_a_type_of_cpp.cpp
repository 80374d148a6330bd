// expect: a label's size is given with its name, as an axis behind the pattern
// facts: rearrange | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"b s (heads width) -> b heads s width", int>(x);
#else
  auto y = nk::rearrange<"b s (heads width) -> b heads s width", nk::dim<"heads", 4>>(x);
#endif
  (void)y;
}
