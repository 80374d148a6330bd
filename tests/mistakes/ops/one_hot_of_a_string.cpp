// expect: a new axis is said by its type, which has its size
// facts: one_hot
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::one_hot<"vocab">(tokens);
#else
  auto y = nk::one_hot<vocab>(tokens);
#endif
  (void)y;
}
