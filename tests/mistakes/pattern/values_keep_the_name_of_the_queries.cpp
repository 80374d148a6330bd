// Attention: the values lie along the keys, but their axis is still called seq.
// expect: a label joins axes of different names, one of which is itself a label
// facts: keys | seq | in_operand<1> | at_column<16>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct heads : nk::dim<"heads", 2> {};
struct seq : nk::dim<"seq", 6> {};
struct key : nk::dim<"key", 6> {};
struct channel : nk::dim<"channel", 4> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::f32, batch, heads, seq, key>& weights,
       const nk::tensor<nk::f32, batch, seq, heads, channel>& v) {
  auto y = nk::einsum<"b h seq keys, b keys h d -> b seq h d">(weights, v);
  (void)y;
}
#else
void f(const nk::tensor<nk::f32, batch, heads, seq, key>& weights,
       const nk::tensor<nk::f32, batch, key, heads, channel>& v) {
  auto y = nk::einsum<"batch heads seq key, batch key heads channel -> batch seq heads channel">(weights, v);
  (void)y;
}
#endif
