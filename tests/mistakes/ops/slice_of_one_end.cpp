// expect: slice: both ends stand beside the axis
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::slice<"batch", 2>(x);
#else
  auto y = nk::slice<"batch", 0, 2>(x);
#endif
  (void)y;
}
