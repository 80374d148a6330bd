// expect: arithmetic is of numbers, and b8 and complex elements are none
// facts: c64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::c64, batch, seq>& x) {
#ifdef MISTAKE
  auto y = nk::einsum<"batch seq -> batch">(x);
#else
  auto y = nk::rearrange<"batch seq -> seq batch">(x);
#endif
  (void)x, (void)y;
}
