// einops writes a product by parentheses alone.
// expect: a character that is not part of the pattern language
// facts: rearrange | at_column<31>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq hidden -> batch (seq * hidden)">(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> batch (seq hidden)">(x);
#endif
  (void)y;
}
