// expect: an axis does not divide by the sizes of the parts
// facts: (heads width) | heads | has_size<8> | but_size<3> | at_column<10>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::exp(nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 3>>(x));
#else
  auto y = nk::exp(nk::rearrange<"batch seq (heads width) -> batch heads seq width", nk::dim<"heads", 2>>(x));
#endif
  (void)y;
}
