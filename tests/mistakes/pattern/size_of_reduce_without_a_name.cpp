// expect: a label's size is given with its name, as an axis behind the pattern
// facts: reduce | values<2>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"b s (h pool) -> b s h", "max", 2>(x);
#else
  auto y = nk::reduce<"b s (h pool) -> b s h", "max", nk::dim<"pool", 2>>(x);
#endif
  (void)y;
}
