// expect: neither operand's axes are a subset of the other's
// facts: batch | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 4> {};

int main() {
  auto x = nk::ones<nk::f32, batch>();
  auto y = nk::ones<nk::f32, seq>();
#ifdef MISTAKE
  auto z = nk::fn([](auto a, auto b) { return nk::exp(a + b); })(x, y);
#else
  auto z = nk::fn([](auto a, auto b) { return nk::exp(nk::outer(a, b)); })(x, y);
#endif
  (void)z;
}
