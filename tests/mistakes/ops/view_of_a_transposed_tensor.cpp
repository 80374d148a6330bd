// expect: a view was asked for, but no strides say this
#include "napkin/ops/movement.hpp"
#include "napkin/ops/reshape.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::i32, batch, seq>& tokens, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::view_as<vocab, nk::dim<"column", 8>>(nk::transpose<"vocab", "hidden">(table));
#else
  auto y = nk::view_as<nk::dim<"row", 16>, nk::dim<"column", 16>>(table);
#endif
  (void)x, (void)row, (void)tokens, (void)table, (void)y;
}
