// expect: slice: the step must be at least 1; flip
// facts: seq | at_index<-1>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::slice<"seq", 0, 6, -1>(x);
#else
  auto y = nk::flip<"seq">(nk::slice<"seq", 0, 6>(x));
#endif
  (void)y;
}
