// expect: parentheses inside parentheses
// facts: at_column
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"a b c -> (a (b c))">(x);
#else
  auto y = nk::rearrange<"a b c -> (a b c)">(x);
#endif
  (void)y;
}
