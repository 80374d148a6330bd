// expect: indices are integers
// facts: less
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = x[x > 0];
#else
  auto y = nk::where(x > 0, x, 0);
#endif
  (void)y;
}
