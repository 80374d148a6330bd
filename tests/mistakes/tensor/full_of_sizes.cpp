// expect: axes have names, and sizes go with them
// facts: given<4
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  auto y = nk::full<nk::f32, 4, 6>(1);
#else
  auto y = nk::full<nk::f32, batch, seq>(1);
#endif
  (void)y;
}
