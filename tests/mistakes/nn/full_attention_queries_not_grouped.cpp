// expect: causal_attention, full_attention: keys and values must have the same axes
// facts: seq, heads, hidden | seq, kv_heads, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 4> {};
struct heads : nk::dim<"heads", 6> {};
struct kv_heads : nk::dim<"kv_heads", 2> {};
struct group : nk::dim<"group", 3> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, seq, heads, hidden>& q,
       const nk::tensor<nk::f32, seq, kv_heads, hidden>& kv) {
#ifdef MISTAKE
  auto y = nk::full_attention<"seq", "hidden">(q, kv, kv);
#else
  auto y = nk::full_attention<"seq", "hidden">(nk::split<"heads", kv_heads, group>(q), kv, kv);
#endif
  (void)y;
}
