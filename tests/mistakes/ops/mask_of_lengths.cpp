// expect: elementwise: neither operand's axes are a subset of the other's
// facts: seq | batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& losses, const nk::tensor<nk::i32, batch>& lengths) {
#ifdef MISTAKE
  auto counted = nk::positions<seq>(losses) < lengths;
#else
  auto counted = nk::broadcast_to<batch, seq>(nk::positions<seq>(losses)) < lengths;
#endif
  (void)counted;
}
