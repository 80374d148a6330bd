// 33 steps of a Markov chain at once; a chain of products is taken by parts.
// expect: the pattern has more than the language takes
// facts: einsum | at_column<158>
#include <napkin/napkin.hpp>

namespace nk = napkin;

void f(const nk::tensor<nk::f32, nk::dim<"from", 4>, nk::dim<"to", 4>>& m) {
#ifdef MISTAKE
  auto y = nk::einsum<
      "a b, b c, c d, d e, e f, f g, g h, h i, i j, j k, k l, l m, m n, n o, o p, p q, q r, r s, s t, t u, u "
      "v, v w, w x, x y, y z, z A, A B, B C, C D, D E, E F, F G, G H -> a H">(
      m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m);
#else
  auto part = nk::einsum<"a b, b c, c d, d e, e f, f g, g h, h i, i j, j k, k l -> a l">(m, m, m, m, m, m, m,
                                                                                         m, m, m, m);
  auto y = nk::einsum<"w x, x y, y z -> w z">(part, part, part);
#endif
  (void)y;
}
