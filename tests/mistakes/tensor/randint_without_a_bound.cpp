// expect: randint: it draws from 0 to below a bound
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
#ifdef MISTAKE
  auto y = nk::randint<nk::i32, batch>(nk::seed{1});
#else
  auto y = nk::randint<nk::i32, batch>(nk::seed{1}, 10);
#endif
  (void)y;
}
