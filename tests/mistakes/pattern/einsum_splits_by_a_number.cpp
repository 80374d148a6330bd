// expect: a label's size is given with its name
// facts: einsum | values<4>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct model : nk::dim<"model", 64> {};
struct embed : nk::dim<"embed", 8> {};
struct parts : nk::dim<"h", 4> {};

void f(const nk::tensor<nk::f32, batch, model>& x, const nk::tensor<nk::f32, model, embed>& w) {
#ifdef MISTAKE
  auto y = nk::einsum<"b (h d), (h d) e -> b h e", 4>(x, w);
#else
  auto y = nk::einsum<"b (h d), (h d) e -> b h e", parts>(x, w);
#endif
  (void)y;
}
