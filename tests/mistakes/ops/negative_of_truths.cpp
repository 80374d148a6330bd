// expect: arithmetic is of numbers, and b8 and complex elements are none here
// facts: b8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::b8, batch, seq>& padding) {
#ifdef MISTAKE
  auto seen = -padding;
#else
  auto seen = !padding;
#endif
  (void)seen;
}
