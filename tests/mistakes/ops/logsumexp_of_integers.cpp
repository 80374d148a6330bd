// expect: exp
// facts: i64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i64, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::logsumexp<"seq">(tokens);
#else
  auto y = nk::logsumexp<"seq">(nk::cast<nk::f32>(tokens));
#endif
  (void)y;
}
