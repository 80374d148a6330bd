// expect: matmul: the second operand has no axis of the name of the first one's last axis
// facts: vocab | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, seq>& row,
       const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::relu(nk::matmul(nk::tensor<nk::f32, vocab>(), row) * 2);
#else
  auto y = nk::relu(nk::matmul(x, table) * 2);
#endif
  (void)y;
}
