// expect: where: takes a condition, what is where it holds, and what is elsewhere
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::where(x > 0, x);
#else
  auto y = nk::where(x > 0, x, 0);
#endif
  (void)y;
}
