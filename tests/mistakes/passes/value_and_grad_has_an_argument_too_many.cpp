// expect: cannot be called with these arguments: it takes more or fewer
// facts: given<2
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, const nk::tensor<nk::f32, hidden>& w) {
#ifdef MISTAKE
  auto [y, of_x] = nk::value_and_grad([](auto a) { return nk::sum(a * a); })(x, w);
#else
  auto [y, of_x] = nk::value_and_grad([](auto a) { return nk::sum(a * a); })(x);
#endif
  (void)w, (void)y, (void)of_x;
}
