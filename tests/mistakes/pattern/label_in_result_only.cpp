// expect: a label stands in the result but in no operand
// facts: hiden | hidden | at_column<30>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq hidden -> seq batch hiden">(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> seq batch hidden">(x);
#endif
  (void)y;
}
