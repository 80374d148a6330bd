// expect: a tensor of axes takes no number: full<f32, axes...>(2) is a tensor of it
// facts: batch | float
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  nk::tensor<nk::f32, batch, hidden> y(3.0f);
#else
  auto y = nk::full<nk::f32, batch, hidden>(3);
#endif
  (void)y;
}
