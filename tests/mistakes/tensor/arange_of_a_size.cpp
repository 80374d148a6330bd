// expect: axes have names, and sizes go with them
// facts: given<6
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  auto y = nk::arange<nk::f32, 6>();
#else
  auto y = nk::arange<nk::f32, seq>();
#endif
  (void)y;
}
