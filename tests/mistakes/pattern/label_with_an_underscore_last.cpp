// `in` is a keyword in Python, whence the habit.
// expect: a label is no axis name
// facts: in_ | at_column<6>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

void f(const nk::tensor<nk::f32, batch, nk::dim<"in", 8>>& x,
       const nk::tensor<nk::f32, nk::dim<"out", 6>, nk::dim<"in", 8>>& w) {
#ifdef MISTAKE
  auto y = nk::einsum<"batch in_, out in_ -> batch out">(x, w);
#else
  auto y = nk::einsum<"batch in, out in -> batch out">(x, w);
#endif
  (void)y;
}
