// expect: concat: a number has no axis along which it could be joined
// facts: float
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct one : nk::dim<"batch", 1> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::concat<"batch">(x, 1.0f);
#else
  auto y = nk::concat<"batch">(x, nk::full<nk::f32, one, hidden>(1));
#endif
  (void)y;
}
