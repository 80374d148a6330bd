// expect: elementwise: neither operand's axes are a subset of the other's
// facts: key | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct key : nk::dim<"key", 6> {};

void f(const nk::tensor<nk::f32, seq, key>& scores) {
#ifdef MISTAKE
  auto seen = nk::positions<key>(scores) <= nk::positions<seq>(scores);
#else
  auto seen = nk::positions<key>(scores) <= nk::broadcast_to<seq, key>(nk::positions<seq>(scores));
#endif
  (void)seen;
}
