// expect: elementwise: neither operand's axes are a subset of the other's
// facts: seq | vocab, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = row + table * 2.0f + x;
#else
  auto y = row + x;
#endif
  (void)y;
}
