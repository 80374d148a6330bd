// expect: an axis is said by its name, a string between angle brackets
// facts: gather | numbers<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
  auto i = nk::zeros<nk::i64>();
#ifdef MISTAKE
  auto y = nk::gather<0>(x, i);
#else
  auto y = nk::gather<"batch">(x, i);
#endif
  (void)y;
}
