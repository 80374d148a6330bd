// expect: axes have names, and sizes go with them
// facts: given<4> | given<8>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::zeros<nk::f32, 4, 8>();
#else
  auto y = nk::zeros<nk::f32, batch, hidden>();
#endif
  (void)y;
}
