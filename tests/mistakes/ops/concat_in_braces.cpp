// expect: concat: each operand is an argument
// facts: tensor
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::concat<"batch">({x, x});
#else
  auto y = nk::concat<"batch">(x, x);
#endif
  (void)y;
}
