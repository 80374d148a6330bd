// expect: elementwise: neither operand's axes are a subset of the other's
// facts: batch, out | batch, target
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct out : nk::dim<"out", 5> {};
struct target : nk::dim<"target", 5> {};

void f(const nk::tensor<nk::f32, batch, out>& predicted, const nk::tensor<nk::f32, batch, target>& wanted) {
#ifdef MISTAKE
  auto y = predicted - wanted;
#else
  auto y = predicted - nk::rename<"target", "out">(wanted);
#endif
  (void)y;
}
