// expect: behind the pattern goes a list of the labels that one operand has alone and that are summed
// facts: named | s
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::einsum_summing<"b s h -> b h", "s">(x);
#else
  auto y = nk::einsum_summing<"b s h -> b h", nk::summed<"s">>(x);
#endif
  (void)y;
}
