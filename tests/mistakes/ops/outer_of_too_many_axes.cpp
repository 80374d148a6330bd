// expect: a tensor has at most 12 axes
// facts: outer | 12 | 14
#include <napkin/napkin.hpp>

namespace nk = napkin;

using first = nk::tensor<float, nk::dim<"a", 2>, nk::dim<"b", 2>, nk::dim<"c", 2>, nk::dim<"d", 2>,
                         nk::dim<"e", 2>, nk::dim<"f", 2>, nk::dim<"g", 2>>;
using second = nk::tensor<float, nk::dim<"h", 2>, nk::dim<"i", 2>, nk::dim<"j", 2>, nk::dim<"k", 2>,
                          nk::dim<"l", 2>, nk::dim<"m", 2>, nk::dim<"n", 2>>;

void f(const first& x, const second& y) {
#ifdef MISTAKE
  nk::tensor z = nk::outer(x, y);
#else
  nk::tensor z = nk::outer(nk::sum<"a", "b">(x), y);
#endif
}
