// expect: the pattern, and the reduction of reduce, are read by the compiler
// facts: reduce | char
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::reduce<"batch hidden -> batch">(x, "mean");
#else
  auto y = nk::reduce<"batch hidden -> batch", "mean">(x);
#endif
  (void)y;
}
