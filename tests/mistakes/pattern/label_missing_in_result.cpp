// expect: a label is missing in the result; only reduce drops axes
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/pattern.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::i32, batch, seq>& tokens, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  nk::tensor y = nk::rearrange<"batch seq hidden -> seq batch">(x);
#else
  nk::tensor y = nk::reduce<"batch seq hidden -> seq batch", "sum">(x);
#endif
  (void)x, (void)row, (void)tokens, (void)table, (void)y;
}
