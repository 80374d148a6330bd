// expect: these distributions are of floating-point numbers
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  auto y = nk::randn<nk::i32, batch, seq>(nk::seed{7});
#else
  auto y = nk::randint<nk::i32, batch, seq>(nk::seed{7}, 32);
#endif
  (void)y;
}
