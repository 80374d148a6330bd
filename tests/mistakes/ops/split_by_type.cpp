// expect: an axis is said by its name, a string between angle brackets
// facts: split | types<embed>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 8> {};
struct heads : nk::dim<"heads", 2> {};
struct width : nk::dim<"width", 4> {};

void f(const nk::tensor<nk::f32, seq, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::split<embed, heads, width>(x);
#else
  nk::tensor y = nk::split<"embed", heads, width>(x);
#endif
}
