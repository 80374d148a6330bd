// expect: the tensor has no axis of this name
// facts: token | vocab, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::i32, batch, seq>& tokens, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::gather<"token">(table, tokens);
#else
  auto y = nk::gather<"vocab">(table, tokens);
#endif
  (void)y;
}
