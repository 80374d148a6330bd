// expect: a new axis is said by its type, which has its size
// facts: one_hot | 10
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct vocab : nk::dim<"vocab", 10> {};

void f(const nk::tensor<nk::i32, batch>& tokens) {
#ifdef MISTAKE
  auto y = nk::one_hot<10>(tokens);
#else
  auto y = nk::one_hot<vocab>(tokens);
#endif
  (void)y;
}
