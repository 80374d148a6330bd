// expect: a new axis is said by its type, which has its size
// facts: scatter_add
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::scatter_add<"vocab">(x, tokens);
#else
  auto y = nk::scatter_add<vocab>(x, tokens);
#endif
  (void)y;
}
