// expect: a new axis is said by its type, which has its size
// facts: positions
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::positions<"seq">(x);
#else
  auto y = nk::positions<seq>(x);
#endif
  (void)y;
}
