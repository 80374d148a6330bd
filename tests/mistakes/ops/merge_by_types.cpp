// expect: an axis is said by its name, a string between angle brackets
// facts: merge | types<heads, width>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct heads : nk::dim<"heads", 2> {};
struct width : nk::dim<"width", 4> {};

void f(const nk::tensor<nk::f32, seq, heads, width>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::merge<heads, width>(x);
#else
  nk::tensor y = nk::merge<"heads", "width">(x);
#endif
}
