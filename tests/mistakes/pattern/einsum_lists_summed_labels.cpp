// expect: sizes of labels follow the pattern
// expect: are listed in einsum_summing
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq>& x, const nk::tensor<nk::f32, batch, hidden>& y) {
#ifdef MISTAKE
  auto z = nk::einsum<"batch seq, batch hidden -> batch hidden", nk::summed<"seq">>(x, y);
#else
  auto z = nk::einsum_summing<"batch seq, batch hidden -> batch hidden", nk::summed<"seq">>(x, y);
#endif
  (void)z;
}
