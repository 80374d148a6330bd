// expect: a label's size is given with its name, as an axis behind the pattern
// facts: rearrange | named<
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::rearrange<"b (h d) -> b h d", "h">(x);
#else
  nk::tensor y = nk::rearrange<"b (h d) -> b h d", nk::dim<"h", 2>>(x);
#endif
}
