// expect: an axis is said by its name, a string between angle brackets
// facts: rotary | types<embed>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, seq, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::rotary<"seq", embed, 500000>(x);
#else
  nk::tensor y = nk::rotary<"seq", "embed", 500000>(x);
#endif
}
