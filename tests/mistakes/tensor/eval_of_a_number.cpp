// expect: eval: this is no expression: a number has its value already
// facts: type<double>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::eval(3.0);
#else
  auto y = nk::eval(3.0 * x);
#endif
  (void)y;
}
