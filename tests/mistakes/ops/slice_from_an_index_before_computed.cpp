// expect: slice: of what is not computed yet both ends are constants
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, int begin) {
#ifdef MISTAKE
  auto y = nk::slice<"batch", 2>(x * 2, begin);
#else
  auto y = nk::slice<"batch", 2>(nk::eval(x * 2), begin);
#endif
  (void)y;
}
