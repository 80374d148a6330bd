// expect: gather, scatter_add, one_hot: indices must be integers
// facts: f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, seq>& row, const nk::tensor<nk::i32, batch, seq>& tokens,
       const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::gather<"vocab">(table, row) * 2;
#else
  auto y = nk::gather<"vocab">(table, tokens) * 2;
#endif
  (void)y;
}
