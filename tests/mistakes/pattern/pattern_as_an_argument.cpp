// expect: the pattern, and the reduction of reduce, are read by the compiler
// facts: rearrange | char
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::rearrange(x, "batch hidden -> hidden batch");
#else
  auto y = nk::rearrange<"batch hidden -> hidden batch">(x);
#endif
  (void)y;
}
