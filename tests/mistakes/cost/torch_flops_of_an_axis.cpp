// expect: this type has no cost: cost, time_on, mfu and the conventions are asked of an expression's type
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  constexpr auto c = nk::conventions::torch<hidden>;
#else
  constexpr auto c = nk::conventions::torch<decltype(nk::sum<"hidden">(x))>;
#endif
  (void)x, (void)c;
}
