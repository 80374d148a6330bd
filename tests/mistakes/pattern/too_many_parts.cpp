// expect: the pattern has more than the language takes
// facts: rearrange | at_column<16>
#include <napkin/napkin.hpp>

namespace nk = napkin;

void f(const nk::tensor<float, nk::dim<"even", 128>, nk::dim<"odd", 64>>& x) {
#ifdef MISTAKE
  nk::tensor y =
      nk::rearrange<"(a b c d e f g) (h i j k l m) -> (a h b i c j d k e l f m g)", nk::dim<"a", 2>,
                    nk::dim<"b", 2>, nk::dim<"c", 2>, nk::dim<"d", 2>, nk::dim<"e", 2>, nk::dim<"f", 2>,
                    nk::dim<"h", 2>, nk::dim<"i", 2>, nk::dim<"j", 2>, nk::dim<"k", 2>, nk::dim<"l", 2>>(x);
#else
  nk::tensor y =
      nk::rearrange<"(a b c d e f) (h i j k l m) -> (a h b i c j d k e l f m)", nk::dim<"a", 2>,
                    nk::dim<"b", 2>, nk::dim<"c", 2>, nk::dim<"d", 2>, nk::dim<"e", 2>, nk::dim<"h", 2>,
                    nk::dim<"i", 2>, nk::dim<"j", 2>, nk::dim<"k", 2>, nk::dim<"l", 2>>(x);
#endif
}
