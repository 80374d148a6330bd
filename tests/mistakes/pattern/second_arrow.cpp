// expect: the pattern has a second '->'
// facts: at_column
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"a b c -> b a c -> c b a">(x);
#else
  auto y = nk::rearrange<"a b c -> c b a">(x);
#endif
  (void)y;
}
