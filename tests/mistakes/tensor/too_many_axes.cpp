// expect: a tensor has at most 12 axes
// facts: 12 | 13
#include <napkin/napkin.hpp>

namespace nk = napkin;

void f() {
#ifdef MISTAKE
  nk::tensor<float, nk::dim<"a", 2>, nk::dim<"b", 2>, nk::dim<"c", 2>, nk::dim<"d", 2>, nk::dim<"e", 2>,
             nk::dim<"f", 2>, nk::dim<"g", 2>, nk::dim<"h", 2>, nk::dim<"i", 2>, nk::dim<"j", 2>,
             nk::dim<"k", 2>, nk::dim<"l", 2>, nk::dim<"m", 2>>
      qubits;
#else
  nk::tensor<float, nk::dim<"a", 2>, nk::dim<"b", 2>, nk::dim<"c", 2>, nk::dim<"d", 2>, nk::dim<"e", 2>,
             nk::dim<"f", 2>, nk::dim<"g", 2>, nk::dim<"h", 2>, nk::dim<"i", 2>, nk::dim<"j", 2>,
             nk::dim<"k", 2>, nk::dim<"l", 2>>
      qubits;
#endif
}
