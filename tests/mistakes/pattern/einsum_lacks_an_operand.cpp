// expect: the pattern and the call have different numbers of operands
// facts: pattern_has<2> | call_has<1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::einsum<"batch seq hidden, vocab hidden -> batch seq vocab">(x);
#else
  auto y = nk::einsum<"batch seq hidden, vocab hidden -> batch seq vocab">(x, table);
#endif
  (void)y;
}
