// expect: axes have names, and sizes go with them
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::randn<nk::f32>(nk::seed{1}, 4, 8);
#else
  auto y = nk::randn<nk::f32, batch, hidden>(nk::seed{1});
#endif
  (void)y;
}
