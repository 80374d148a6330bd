// expect: plan_of is asked of an expression's type
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  constexpr auto launches = nk::plan_of<decltype(2.0), nk::cpu>.launches;
#else
  constexpr auto launches = nk::plan_of<decltype(2.0 * x), nk::cpu>.launches;
#endif
  (void)x, (void)launches;
}
