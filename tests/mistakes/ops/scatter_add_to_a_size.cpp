// expect: a new axis is said by its type, which has its size
// facts: scatter_add | 10
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct vocab : nk::dim<"vocab", 10> {};

void f(const nk::tensor<nk::f32, batch>& x, const nk::tensor<nk::i32, batch>& tokens) {
#ifdef MISTAKE
  auto y = nk::scatter_add<10>(x, tokens);
#else
  auto y = nk::scatter_add<vocab>(x, tokens);
#endif
  (void)y;
}
