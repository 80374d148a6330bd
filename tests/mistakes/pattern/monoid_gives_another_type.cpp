// expect: what the monoid makes of two values is not one value of their dtype
// facts: longer | f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

struct longer {
  static constexpr int identity = 0;
#ifdef MISTAKE
  constexpr auto operator()(auto a, auto b) const { return a > b; }
#else
  constexpr auto operator()(auto a, auto b) const { return nk::where(a > b, a, b); }
#endif
};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch seq hidden -> batch", longer>(x) + 1;
#else
  auto y = nk::reduce<"batch seq hidden -> batch", longer>(x) + 1;
#endif
  (void)x, (void)y;
}
