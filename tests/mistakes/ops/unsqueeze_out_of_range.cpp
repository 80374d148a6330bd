// expect: unsqueeze: the place must be at least 0
// facts: at_index<4>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::unsqueeze<4>(x);
#else
  auto y = nk::unsqueeze<3>(x);
#endif
  (void)y;
}
