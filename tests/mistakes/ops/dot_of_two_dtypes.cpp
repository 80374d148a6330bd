// expect: the operands differ in dtype
// facts: f32 | bf16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::dot<"hidden">(x, nk::cast<nk::bf16>(table));
#else
  auto y = nk::dot<"hidden">(x, table);
#endif
  (void)y;
}
