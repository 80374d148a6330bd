// expect: the function that fn or grad is given cannot be called with these arguments
// facts: 0
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::fn([](auto a) { return a * 2; })();
#else
  auto y = nk::fn([](auto a) { return a * 2; })(x);
#endif
  (void)y;
}
