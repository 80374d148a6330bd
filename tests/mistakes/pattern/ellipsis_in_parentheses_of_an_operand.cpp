// The axes of the image were flattened, and come back by name.
// expect: '...' may stand in parentheses only in the result
// facts: at_column<7>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct channels : nk::dim<"channels", 3> {};

void f(const nk::tensor<nk::f32, batch, nk::dim<"pixels", 6>, channels>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch (...) channels -> batch ... channels">(x);
#else
  auto y =
      nk::rearrange<"batch (rows columns) channels -> batch rows columns channels", nk::dim<"rows", 2>>(x);
#endif
  (void)y;
}
