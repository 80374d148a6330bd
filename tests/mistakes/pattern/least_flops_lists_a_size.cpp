// expect: or an empty one, summed<>; sizes follow it
// facts: 4
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::einsum_least_flops<"b s (h w), b s v -> b h w v", nk::dim<"h", 4>>(x, x);
#else
  auto y = nk::einsum_least_flops<"b s (h w), b s v -> b h w v", nk::summed<>, nk::dim<"h", 4>>(x, x);
#endif
  (void)y;
}
