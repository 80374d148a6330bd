// expect: a label's size is given with its name, as an axis behind the pattern
// facts: repeat | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::repeat<"b s h -> b s h copies">(x, 3);
#else
  auto y = nk::repeat<"b s h -> b s h copies", nk::dim<"copies", 3>>(x);
#endif
  (void)y;
}
