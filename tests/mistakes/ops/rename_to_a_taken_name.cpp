// expect: rename: the tensor already has an axis of the new name
// facts: batch | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rename<"seq", "batch">(x) + 1;
#else
  auto y = nk::rename<"seq", "key">(x) + 1;
#endif
  (void)y;
}
