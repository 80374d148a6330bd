// An axis of one element is written as 1.
// expect: an axis written as a number cannot be 0
// facts: rearrange | at_column<22>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch hidden -> batch 0 hidden">(x);
#else
  auto y = nk::rearrange<"batch hidden -> batch 1 hidden">(x);
#endif
  (void)y;
}
