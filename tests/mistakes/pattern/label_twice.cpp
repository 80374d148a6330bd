// expect: one label stands twice on one side of the pattern
// facts: seq | at_column
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq seq -> batch seq">(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> batch (seq hidden)">(x);
#endif
  (void)y;
}
