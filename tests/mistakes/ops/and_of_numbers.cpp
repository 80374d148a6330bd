// expect: && and || are of b8
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = tokens && tokens;
#else
  auto y = tokens != 0 && tokens < 7;
#endif
  (void)y;
}
