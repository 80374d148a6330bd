// expect: random numbers are a function of a seed
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

void f() {
#ifdef MISTAKE
  auto y = nk::rand<nk::f32, batch>();
#else
  auto y = nk::rand<nk::f32, batch>(nk::seed{1});
#endif
  (void)y;
}
