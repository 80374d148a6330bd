// No i32 is larger than every other.
// expect: the monoid's identity is no number of the operand's dtype
// facts: least | i32
#include <limits>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

struct least {
  static constexpr double identity = std::numeric_limits<double>::infinity();
  constexpr auto operator()(auto a, auto b) const { return nk::minimum(a, b); }
};

void f(const nk::tensor<nk::i32, batch, seq>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch seq -> batch", least>(x);
#else
  auto y = nk::reduce<"batch seq -> batch", least>(nk::cast<nk::f32>(x));
#endif
  (void)y;
}
