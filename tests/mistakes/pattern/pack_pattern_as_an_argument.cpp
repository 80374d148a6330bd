// expect: the pattern, and the reduction of reduce, are read by the compiler
// facts: pack | batch | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, batch, hidden>& row) {
#ifdef MISTAKE
  auto [y, shapes] = nk::pack(row, x, "batch * hidden");
#else
  auto [y, shapes] = nk::pack<"batch * hidden">(row, x);
#endif
  (void)x, (void)row, (void)y;
}
