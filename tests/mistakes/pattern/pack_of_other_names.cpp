// expect: one label means axes of different names
// facts: hidden | embed | at_column<8>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x,
       const nk::tensor<nk::f32, batch, nk::dim<"embed", 8>>& other) {
#ifdef MISTAKE
  auto [packed, shapes] = nk::pack<"batch * hidden">(x, other);
  auto y = packed + 1;
#else
  auto [packed, shapes] = nk::pack<"batch * hidden">(x, nk::rename<"embed", "hidden">(other));
  auto y = packed + 1;
#endif
  (void)x, (void)other, (void)y;
}
