// expect: indices must be integers
// facts: f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::cross_entropies<"hidden">(x, row);
#else
  auto y = nk::cross_entropies<"hidden">(x, tokens);
#endif
  (void)tokens, (void)row, (void)y;
}
