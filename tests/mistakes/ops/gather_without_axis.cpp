// expect: an axis is said by its name, a string between angle brackets
// facts: gather | vocab | batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 11> {};

void f() {
  auto x = nk::ones<nk::f32, vocab, hidden>();
  auto i = nk::zeros<nk::i32, batch>();
#ifdef MISTAKE
  auto y = nk::gather(x, i);
#else
  auto y = nk::gather<"vocab">(x, i);
#endif
  (void)y;
}
