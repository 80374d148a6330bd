// expect: broadcast_to: the new axes must include every axis of the operand
// facts: seq | vocab, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::broadcast_to<vocab, hidden>(row);
#else
  auto y = nk::broadcast_to<hidden, seq>(row);
#endif
  (void)y;
}
