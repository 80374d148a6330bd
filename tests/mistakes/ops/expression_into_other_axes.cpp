// expect: assignment: the axes differ, by name, size or order
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/movement.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::i32, batch, seq>& tokens, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  nk::tensor<nk::f32, seq, batch, hidden> y = nk::exp(x);
#else
  nk::tensor<nk::f32, seq, batch, hidden> y = nk::permute<"seq", "batch", "hidden">(nk::exp(x));
#endif
  (void)x, (void)row, (void)tokens, (void)table, (void)y;
}
