// expect: a new axis is said by its type, which has its size
// facts: broadcast_to
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::broadcast_to<"batch", "seq">(row);
#else
  auto y = nk::broadcast_to<batch, seq>(row);
#endif
  (void)y;
}
