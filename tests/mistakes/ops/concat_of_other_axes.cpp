// expect: concat: apart from the axis along which they are joined
#include "napkin/ops/concat.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::i32, batch, seq>& tokens, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::concat<"seq">(x, row);
#else
  auto y = nk::concat<"seq">(x, x);
#endif
  (void)x, (void)row, (void)tokens, (void)table, (void)y;
}
