// expect: the window's size stands before the axes
// facts: mean_pool | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::mean_pool<"seq">(x);
#else
  auto y = nk::mean_pool<2, "seq">(x);
#endif
  (void)y;
}
