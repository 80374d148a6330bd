// expect: cannot be called with these arguments: it takes more or fewer
// facts: given<1
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, const nk::tensor<nk::f32, hidden>& w) {
#ifdef MISTAKE
  auto y = nk::fn([](auto a, auto b) { return nk::sum(a * b); })(x);
#else
  auto y = nk::fn([](auto a, auto b) { return nk::sum(a * b); })(x, w);
#endif
  (void)w, (void)y;
}
