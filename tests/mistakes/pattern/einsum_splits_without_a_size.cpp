// expect: more than one size is unknown in an axis that is split: give one
// facts: (heads hidden)
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct model : nk::dim<"model", 64> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, batch, model>& x, const nk::tensor<nk::f32, model, embed>& w) {
#ifdef MISTAKE
  auto y = nk::einsum<"batch (heads hidden), (heads hidden) embed -> batch heads embed">(x, w);
#else
  auto y = nk::einsum<"batch (heads hidden), (heads hidden) embed -> batch heads embed", nk::dim<"heads", 4>>(
      x, w);
#endif
  (void)y;
}
