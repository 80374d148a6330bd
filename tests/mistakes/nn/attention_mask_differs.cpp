// expect: causal_attention, full_attention: a mask is b8, true where a query sees a key, or of the queries' dtype
// facts: batch, seq | b8 | batch, heads, seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 4> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, heads, hidden>& x,
       const nk::tensor<nk::b8, batch, seq>& is_word) {
#ifdef MISTAKE
  auto y = nk::full_attention<"seq", "hidden">(x, x, x, is_word);
#else
  auto y = nk::full_attention<"seq", "hidden">(x, x, x, nk::rename<"seq", nk::primed<seq>>(is_word));
#endif
  (void)y;
}
