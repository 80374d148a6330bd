// expect: the operands differ in dtype
// facts: i32 | f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::einsum<"batch seq, batch seq hidden -> hidden">(tokens, x);
#else
  auto y = nk::einsum<"batch seq, batch seq hidden -> hidden">(nk::cast<nk::f32>(tokens), x);
#endif
  (void)y;
}
