// expect: exp, log, sin, floor and the like are of floating-point numbers
// facts: i64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::i64, batch, seq>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch seq -> batch", "logsumexp">(x) + 1;
#else
  auto y = nk::reduce<"batch seq -> batch", "logsumexp">(nk::cast<nk::f32>(x)) + 1;
#endif
  (void)x, (void)y;
}
