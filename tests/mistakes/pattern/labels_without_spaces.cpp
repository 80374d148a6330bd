// expect: labels are words with spaces between them
// facts: pattern_has<1> | call_has<2> | at_column<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::rearrange<"bh -> hb">(x);
#else
  auto y = nk::rearrange<"batch hidden -> hidden batch">(x);
#endif
  (void)y;
}
