// expect: dot: name the axes to sum
// facts: batch, hidden | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, const nk::tensor<nk::f32, hidden>& weight) {
#ifdef MISTAKE
  auto y = nk::dot(x, weight);
#else
  auto y = nk::dot<"hidden">(x, weight);
#endif
  (void)y;
}
