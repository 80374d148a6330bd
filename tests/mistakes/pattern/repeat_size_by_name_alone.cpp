// expect: a label's size is given with its name, as an axis behind the pattern
// facts: repeat | named<
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::repeat<"b d -> b r d", "r">(x);
#else
  nk::tensor y = nk::repeat<"b d -> b r d", nk::dim<"r", 3>>(x);
#endif
}
