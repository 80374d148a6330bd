// expect: axes have names, and sizes go with them
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

void f() {
#ifdef MISTAKE
  auto y = nk::ones<nk::f32>(4);
#else
  auto y = nk::ones<nk::f32, batch>();
#endif
  (void)y;
}
