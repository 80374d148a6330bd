// expect: are of floating-point numbers
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::mean_pool<2, "seq">(nk::cast<nk::i32>(x));
#else
  nk::tensor y = nk::mean_pool<2, "seq">(x);
#endif
}
