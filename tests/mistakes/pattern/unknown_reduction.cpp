// expect: reduce: the reduction is none of sum, mean
// facts: median
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch seq hidden -> batch seq", "median">(x) + 1;
#else
  auto y = nk::reduce<"batch seq hidden -> batch seq", "mean">(x) + 1;
#endif
  (void)y;
}
