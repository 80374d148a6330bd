// expect: indices are a tensor of integers
// facts: gather
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::gather<"seq">(x, 3);
#else
  auto y = nk::slice<"seq", 3, 4>(x);
#endif
  (void)y;
}
