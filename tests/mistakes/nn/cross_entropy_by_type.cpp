// expect: an axis is said by its name, a string between angle brackets
// facts: cross_entropy | types<vocab>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 16> {};

void f(const nk::tensor<nk::f32, seq, vocab>& logits, const nk::tensor<nk::u16, seq>& targets) {
#ifdef MISTAKE
  nk::tensor y = nk::cross_entropy<vocab>(logits, targets);
#else
  nk::tensor y = nk::cross_entropy<"vocab">(logits, targets);
#endif
}
