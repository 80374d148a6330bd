// expect: permute: every axis must be named once
// facts: expected<3> | given<2> | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::permute<"seq", "batch">(x);
#else
  auto y = nk::permute<"seq", "batch", "hidden">(x);
#endif
  (void)y;
}
