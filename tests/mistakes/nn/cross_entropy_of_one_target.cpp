// expect: indices are a tensor of integers
// facts: cross_entropy
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, const nk::tensor<nk::i32, batch>& n) {
#ifdef MISTAKE
  auto y = nk::cross_entropy<"hidden">(x, 3);
#else
  auto y = nk::cross_entropy<"hidden">(x, n);
#endif
  (void)n, (void)y;
}
