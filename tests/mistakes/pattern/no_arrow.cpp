// expect: the pattern has no '->'
// facts: at_column<16>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq hidden">(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> hidden seq batch">(x);
#endif
  (void)y;
}
