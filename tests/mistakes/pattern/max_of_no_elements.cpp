// expect: max, min, argmax, argmin: an axis of size 0 is reduced
// facts: max | batch | none
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, nk::dim<"none", 0>>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch none -> batch", "max">(x) + 1;
#else
  auto y = nk::reduce<"batch none -> batch", "sum">(x) + 1;
#endif
  (void)x, (void)y;
}
