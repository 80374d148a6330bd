// expect: unsqueeze: it takes a place
// facts: one
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct one : nk::dim<"one", 1> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::unsqueeze<"one">(x);
#else
  auto y = nk::repeat<"batch seq hidden -> batch seq one hidden", one>(x);
#endif
  (void)y;
}
