// expect: axes have names, and sizes go with them
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::full<nk::f32>(1, 4);
#else
  auto y = nk::full<nk::f32, batch>(1);
#endif
  (void)y;
}
