// expect: an axis is said by its name, a string between angle brackets
// facts: flip | types<seq>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::flip<seq>(x);
#else
  nk::tensor y = nk::flip<"seq">(x);
#endif
}
