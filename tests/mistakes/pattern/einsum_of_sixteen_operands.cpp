// Sixteen steps of a Markov chain at once; a chain of products is taken by parts.
// expect: the pattern has more than the language takes
// facts: einsum | at_column<73>
#include <napkin/napkin.hpp>

namespace nk = napkin;

void f(const nk::tensor<nk::f32, nk::dim<"from", 4>, nk::dim<"to", 4>>& m) {
#ifdef MISTAKE
  auto y =
      nk::einsum<"a b, b c, c d, d e, e f, f g, g h, h i, i j, j k, k l, l m, m n, n o, o p, p q -> a q">(
          m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m);
#else
  auto half = nk::einsum<"a b, b c, c d, d e, e f, f g, g h, h i -> a i">(m, m, m, m, m, m, m, m);
  auto y = nk::einsum<"x y, y z -> x z">(half, half);
#endif
  (void)y;
}
