// expect: index: the index must be at least 0 and below the size
// facts: seq | has_size<6> | at_index<6>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::exp(nk::index<"seq", 6>(x));
#else
  auto y = nk::exp(nk::index<"seq", 5>(x));
#endif
  (void)y;
}
