// expect: inside it the value is used as it is, without eval
// facts: traced
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::fn([](auto v) { return nk::sum<"seq">(nk::eval(v * v)); })(x);
#else
  auto y = nk::fn([](auto v) { return nk::sum<"seq">(v * v); })(x);
#endif
  (void)y;
}
