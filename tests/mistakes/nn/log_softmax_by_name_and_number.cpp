// expect: an axis is said by its name, a string between angle brackets
// facts: log_softmax | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::log_softmax<"hidden">(x, 1);
#else
  auto y = nk::log_softmax<"hidden">(x);
#endif
  (void)y;
}
