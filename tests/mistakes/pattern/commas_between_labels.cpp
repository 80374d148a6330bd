// expect: a comma separates operands of einsum and may not stand here
// facts: rearrange | at_column<5>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch, seq, hidden -> batch, hidden, seq">(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> batch hidden seq">(x);
#endif
  (void)y;
}
