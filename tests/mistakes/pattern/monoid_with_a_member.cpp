// What is scaled by is known when the program runs; a reduction is known to the compiler.
// expect: a monoid must hold nothing and be made without arguments
// facts: scaled_sum
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

struct scaled_sum {
  static constexpr int identity = 0;
#ifdef MISTAKE
  double scale;
  constexpr auto operator()(auto a, auto b) const { return (a + b) * scale; }
#else
  constexpr auto operator()(auto a, auto b) const { return a + b; }
#endif
};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch seq -> batch", scaled_sum>(x);
#else
  auto y = nk::reduce<"batch seq -> batch", scaled_sum>(x);
#endif
  (void)y;
}
