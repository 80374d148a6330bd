// expect: one axis name has two sizes in one expression
// facts: hidden | has_size<8> | but_size<4>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::dot<"hidden">(x, nk::slice<"hidden", 0, 4>(table));
#else
  auto y = nk::dot<"hidden">(x, table);
#endif
  (void)y;
}
