// The class token was forgotten.
// expect: pack: the axis that is to be the packed one has another size than the operands
// facts: token | has_size<6> | but_size<7>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, batch, hidden>& cls) {
#ifdef MISTAKE
  auto y = nk::pack<"batch * hidden", nk::dim<"token", 6>>(cls, x).packed + 1;
#else
  auto y = nk::pack<"batch * hidden", nk::dim<"token", 7>>(cls, x).packed + 1;
#endif
  (void)y;
}
