// expect: a label is the name of a different axis of this operand: labels go by position, as the axes lie
// facts: hidden | heads | at_column<34>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 128> {};
struct heads : nk::dim<"heads", 8> {};
struct hidden : nk::dim<"hidden", 64> {};

int main() {
  auto x = nk::randn<nk::f32, batch, seq, heads, hidden>(nk::seed{1});
#ifdef MISTAKE
  auto s = nk::einsum<"batch seq heads hidden, batch key hidden heads -> batch heads seq key">(x, x);
#else
  auto s = nk::einsum<"batch seq heads hidden, batch key heads hidden -> batch heads seq key">(x, x);
#endif
  (void)s;
}
