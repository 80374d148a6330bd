// expect: there is no +=, -=, *= or /=
// facts: int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  x += 1;
#else
  x = x + 1;
#endif
  (void)x;
}
