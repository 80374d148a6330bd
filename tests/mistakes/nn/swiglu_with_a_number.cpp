// expect: swiglu: it is of two operands
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::swiglu(x, 2);
#else
  auto y = nk::silu(x) * 2;
#endif
  (void)y;
}
