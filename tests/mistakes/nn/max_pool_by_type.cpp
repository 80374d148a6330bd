// expect: an axis is said by its name, a string between angle brackets
// facts: max_pool | types<seq>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::max_pool<2, seq>(x);
#else
  nk::tensor y = nk::max_pool<2, "seq">(x);
#endif
}
