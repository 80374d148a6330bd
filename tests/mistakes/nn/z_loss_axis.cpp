// expect: the tensor has no axis of this name
// facts: sec | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::z_loss<"sec">(x);
#else
  nk::tensor y = nk::z_loss<"seq">(x);
#endif
}
