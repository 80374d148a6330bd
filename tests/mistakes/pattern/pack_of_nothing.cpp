// The tensors were left for a second call, as in a decorator.
// expect: pack: there is nothing to pack
// facts: batch * hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, batch, hidden>& row) {
#ifdef MISTAKE
  auto packing = nk::pack<"batch * hidden">();
#else
  auto packing = nk::pack<"batch * hidden">(row, x);
#endif
  (void)x, (void)row, (void)packing;
}
