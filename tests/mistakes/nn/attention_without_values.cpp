// expect: they take queries, keys and values
// facts: causal_attention
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::causal_attention<"seq", "hidden">(x, x);
#else
  auto y = nk::causal_attention<"seq", "hidden">(x, x, x);
#endif
  (void)y;
}
