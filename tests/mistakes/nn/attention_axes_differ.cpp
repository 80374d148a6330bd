// expect: causal_attention, full_attention: keys and values must have the same axes
// facts: seq, hidden | seq, heads, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 4> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, seq, heads, hidden>& x, const nk::tensor<nk::f32, seq, hidden>& shared) {
#ifdef MISTAKE
  auto y = nk::causal_attention<"seq", "hidden">(shared, x, x);
#else
  auto y = nk::causal_attention<"seq", "hidden">(x, shared, shared);
#endif
  (void)y;
}
