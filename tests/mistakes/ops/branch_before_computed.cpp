// expect: an expression is not computed before it is assigned
#include "napkin/cpu/lower.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
  int y = 0;
#ifdef MISTAKE
  if (nk::all(x > 0)) y = 1;
#else
  if (nk::eval(nk::all(x > 0))) y = 1;
#endif
  (void)y;
}
