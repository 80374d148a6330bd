// numpy writes "...ij".
// expect: dots may stand only in an ellipsis, '...', apart from names
// facts: at_column<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::einsum<"...seq hidden, vocab hidden -> ...seq vocab">(x, table);
#else
  auto y = nk::einsum<"... seq hidden, vocab hidden -> ... seq vocab">(x, table);
#endif
  (void)y;
}
