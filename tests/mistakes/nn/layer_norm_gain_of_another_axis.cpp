// expect: elementwise: neither operand's axes are a subset of the other's
// facts: batch, seq, hidden | vocab, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table,
       const nk::tensor<nk::f32, hidden>& gain) {
#ifdef MISTAKE
  auto y = nk::layer_norm<"hidden">(x, table, gain);
#else
  auto y = nk::layer_norm<"hidden">(x, gain, gain);
#endif
  (void)table, (void)y;
}
