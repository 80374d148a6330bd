// expect: grad: takes a function, and gives one that is called with the arguments
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::grad<"x">(nk::fn<"x">([](auto v) { return nk::sum(v * v); }), x);
#else
  auto y = nk::grad<"x">(nk::fn<"x">([](auto v) { return nk::sum(v * v); }))(x);
#endif
  (void)y;
}
