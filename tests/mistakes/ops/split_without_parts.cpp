// expect: split: the axis was not composed of others, so its parts must be listed
// facts: embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 24> {};
struct heads : nk::dim<"heads", 3> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, seq, embed>& x) {
#ifdef MISTAKE
  auto y = nk::split<"embed">(x);
#else
  auto y = nk::split<"embed", heads, hidden>(x);
#endif
  (void)y;
}
