// expect: a label's size is given with its name, as an axis behind the pattern
// facts: einsum | named<
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct parts : nk::dim<"h", 2> {};
struct width : nk::dim<"width", 4> {};
struct embed : nk::dim<"embed", 8> {};
struct ffn : nk::dim<"ffn", 8> {};

void f(const nk::tensor<nk::f32, batch, embed>& x, const nk::tensor<nk::f32, width, ffn>& w) {
#ifdef MISTAKE
  nk::tensor y = nk::einsum<"b (h d), d f -> b h f", "h">(x, w);
#else
  nk::tensor y = nk::einsum<"b (h d), d f -> b h f", parts>(x, w);
#endif
}
