// expect: gelu: it takes one operand and has two names
// facts: char
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::gelu(x, "tanh");
#else
  auto y = nk::gelu(x);
#endif
  (void)y;
}
