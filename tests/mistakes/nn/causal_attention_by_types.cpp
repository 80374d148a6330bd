// expect: an axis is said by its name, a string between angle brackets
// facts: causal_attention | types<seq, width>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct width : nk::dim<"width", 4> {};

void f(const nk::tensor<nk::f32, batch, seq, width>& q, const nk::tensor<nk::f32, batch, seq, width>& k,
       const nk::tensor<nk::f32, batch, seq, width>& v) {
#ifdef MISTAKE
  nk::tensor y = nk::causal_attention<seq, width>(q, k, v);
#else
  nk::tensor y = nk::causal_attention<"seq", "width">(q, k, v);
#endif
}
