// expect: an axis is said by its name
// facts: prod
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::prod(x, 1);
#else
  auto y = nk::prod<"seq">(x);
#endif
  (void)y;
}
