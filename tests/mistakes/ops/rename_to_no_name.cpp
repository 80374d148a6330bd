// expect: the name of an axis is letters, digits and underscores
// facts: two words | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::rename<"seq", "two words">(x);
#else
  auto y = nk::rename<"seq", "two_words">(x);
#endif
  (void)y;
}
