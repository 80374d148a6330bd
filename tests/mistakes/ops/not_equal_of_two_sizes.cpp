// expect: one axis name has two sizes in one expression
// facts: seq | 6 | 5
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::u16, batch, seq>& text,
       const nk::tensor<nk::u16, batch, nk::dim<"seq", 5>>& targets) {
#ifdef MISTAKE
  auto changed = text != targets;
#else
  auto changed = nk::slice<"seq", 0, 5>(text) != targets;
#endif
  (void)changed;
}
