// In einops too it is `*` for pack.
// expect: this may not stand in a pattern of pack
// facts: pack | at_column<6>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, batch, hidden>& row) {
#ifdef MISTAKE
  auto y = nk::pack<"batch ... hidden">(row, x).packed + 1;
#else
  auto y = nk::pack<"batch * hidden">(row, x).packed + 1;
#endif
  (void)y;
}
