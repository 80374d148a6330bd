// expect: full: it takes the value that every element has
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::full<nk::f32, batch>();
#else
  auto y = nk::full<nk::f32, batch>(1);
#endif
  (void)y;
}
