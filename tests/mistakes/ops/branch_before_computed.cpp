// expect: an expression is not computed before it is assigned
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

int f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  return nk::all(x > 0) ? 1 : 0;
#else
  return nk::eval(nk::all(x > 0)) ? 1 : 0;
#endif
}
