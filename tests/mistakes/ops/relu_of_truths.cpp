// expect: arithmetic is of numbers, and b8 and complex elements are none here
// facts: b8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::b8, batch, seq>& mask) {
#ifdef MISTAKE
  auto y = nk::relu(mask);
#else
  auto y = nk::relu(nk::cast<nk::i32>(mask));
#endif
  (void)y;
}
