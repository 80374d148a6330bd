// expect: a label stands in one operand only, so that its axis would be summed silently
// facts: hiden | hidden | at_column<10>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::relu(nk::einsum<"batch seq hiden, vocab hidden -> batch seq vocab">(x, table)) * 2;
#else
  auto y = nk::relu(nk::einsum<"batch seq hidden, vocab hidden -> batch seq vocab">(x, table)) * 2;
#endif
  (void)y;
}
