// The last batch of an epoch is smaller.
// expect: an axis of '...' has two sizes
// facts: batch | has_size<3> | but_size<4> | at_column<12>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x,
       const nk::tensor<nk::f32, nk::dim<"batch", 3>, hidden>& last) {
#ifdef MISTAKE
  auto y = nk::einsum<"... hidden, ... hidden -> ...">(x, last);
#else
  auto y = nk::einsum<"... hidden, ... hidden -> ...">(nk::slice<"batch", 0, 3>(x), last);
#endif
  (void)y;
}
