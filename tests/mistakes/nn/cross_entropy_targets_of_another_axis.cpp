// expect: the result would have two axes of one name
// facts: hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::i32, batch, seq>& tokens,
       const nk::tensor<nk::f32, hidden>& gain) {
#ifdef MISTAKE
  auto y = nk::cross_entropy<"hidden">(x, nk::cast<nk::i32>(gain));
#else
  auto y = nk::cross_entropy<"hidden">(x, tokens);
#endif
  (void)gain, (void)tokens, (void)y;
}
