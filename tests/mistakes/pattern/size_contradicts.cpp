// expect: the size given for a label is not the size of its axis
// facts: seq | has_size<6> | but_size<7> | at_column<6>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch seq hidden -> seq batch hidden", nk::dim<"seq", 7>>(x);
#else
  auto y = nk::rearrange<"batch seq hidden -> seq batch hidden", nk::dim<"seq", 6>>(x);
#endif
  (void)y;
}
