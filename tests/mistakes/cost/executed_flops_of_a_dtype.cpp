// expect: this type has no cost: cost, time_on, mfu and the conventions are asked of an expression's type
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

double f(const nk::tensor<nk::bf16, batch, hidden>& x, double seconds) {
  (void)x;
#ifdef MISTAKE
  return nk::hfu<nk::bf16>(nk::h100_sxm, seconds);
#else
  return nk::hfu<decltype(nk::einsum<"b h, c h -> b c">(x, x))>(nk::h100_sxm, seconds);
#endif
}
