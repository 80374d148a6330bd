// expect: one label has two sizes
// facts: 6 | 32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, seq>& row, const nk::tensor<nk::f32, vocab, hidden>& table,
       const nk::tensor<nk::f32, hidden>& gain) {
#ifdef MISTAKE
  auto y = nk::einsum_least_flops<"s, s h -> h">(row, table);
#else
  auto y = nk::einsum_least_flops<"h, v h -> v">(gain, table);
#endif
  (void)gain, (void)row, (void)y;
}
