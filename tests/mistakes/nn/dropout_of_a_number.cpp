// expect: dropout(x, rate, noise): the noise says what is dropped
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  const auto x = nk::zeros<nk::f32, batch, hidden>();
  const auto noise = nk::full<nk::i64>(1);
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto a, auto) { return nk::dropout(a, 0.1, 1); })(x, noise);
#else
  nk::tensor y = nk::fn([](auto a, auto n) { return nk::dropout(a, 0.1, n); })(x, noise);
#endif
  (void)y;
}
