// expect: axes have names, and sizes go with them
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::arange<nk::f32>(4);
#else
  auto y = nk::arange<nk::f32, batch>();
#endif
  (void)y;
}
