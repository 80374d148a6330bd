// expect: an axis is said by its name, a string between angle brackets
// facts: mean | numbers<1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  nk::tensor y = nk::mean<1>(x);
#else
  nk::tensor y = nk::mean<"hidden">(x);
#endif
  (void)y;
}
