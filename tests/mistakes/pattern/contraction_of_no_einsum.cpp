// expect: contraction_of: the expression must be an einsum, or hold exactly one
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  constexpr auto y = nk::contraction_of<decltype(nk::relu(x))>;
#else
  constexpr auto y = nk::contraction_of<decltype(nk::einsum<"batch seq hidden -> batch">(x))>;
#endif
  (void)x, (void)y;
}
