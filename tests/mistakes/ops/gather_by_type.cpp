// expect: an axis is said by its name, a string between angle brackets
// facts: gather | types<vocab>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 16> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, vocab, embed>& table, const nk::tensor<nk::u16, seq>& tokens) {
#ifdef MISTAKE
  nk::tensor y = nk::gather<vocab>(table, tokens);
#else
  nk::tensor y = nk::gather<"vocab">(table, tokens);
#endif
}
