// expect: the result would have two axes of one name
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::i32, batch, seq>& tokens, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::gather<"vocab">(nk::rename<"hidden", "seq">(table), tokens) + 1;
#else
  auto y = nk::gather<"vocab">(table, tokens) + 1;
#endif
  (void)y;
}
