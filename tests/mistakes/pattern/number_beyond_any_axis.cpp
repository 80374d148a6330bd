// -1, "what is left", as an unsigned number.
// expect: a number is too large for an axis
// facts: 18446744073709551615 | at_column<9>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"(windows 18446744073709551615) hidden -> windows hidden", "mean">(x);
#else
  auto y = nk::reduce<"(windows 3) hidden -> windows hidden", "mean">(x);
#endif
  (void)y;
}
