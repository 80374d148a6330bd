// expect: slice: of what is not computed yet both ends are constants
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto a) { return nk::slice<"batch", 2>(a, 1); })(x);
#else
  nk::tensor y = nk::fn([](auto a) { return nk::slice<"batch", 1, 3>(a); })(x);
#endif
  (void)y;
}
