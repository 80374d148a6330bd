// expect: this type has no cost: cost, time_on, mfu and the conventions are asked of an expression's type
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  const auto t = nk::time_on_device<nk::f32>(nk::h100_sxm);
#else
  const auto t = nk::time_on_device<decltype(x * x)>(nk::h100_sxm);
#endif
  (void)x, (void)t;
}
