// expect: an axis is said by its name, a string between angle brackets
// facts: z_loss | types<vocab>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 16> {};

void f(const nk::tensor<nk::f32, seq, vocab>& logits) {
#ifdef MISTAKE
  nk::tensor y = nk::z_loss<vocab>(logits);
#else
  nk::tensor y = nk::z_loss<"vocab">(logits);
#endif
}
