// expect: randint: it draws integers
// facts: f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  auto y = nk::randint<nk::f32, batch, seq>(nk::seed{7}, 32);
#else
  auto y = nk::rand<nk::f32, batch, seq>(nk::seed{7});
#endif
  (void)y;
}
