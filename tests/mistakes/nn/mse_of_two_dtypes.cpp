// expect: the operands differ in dtype and nothing is promoted unasked
// facts: f32 | f64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::mse(x, nk::cast<nk::f64>(x));
#else
  nk::tensor y = nk::mse(x, x);
#endif
}
