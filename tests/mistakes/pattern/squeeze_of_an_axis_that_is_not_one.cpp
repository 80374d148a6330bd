// The axis was thought to have been reduced to one element.
// expect: a number in the pattern meets an axis of another size
// facts: seq | has_size<6> | but_size<1> | at_column<6>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rearrange<"batch 1 hidden -> batch hidden">(x);
#else
  auto y = nk::reduce<"batch seq hidden -> batch hidden", "mean">(x);
#endif
  (void)y;
}
