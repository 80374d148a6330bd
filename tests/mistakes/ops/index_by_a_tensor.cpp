// expect: indices are integers
// facts: batch | int
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, const nk::tensor<nk::i32, seq>& chosen) {
#ifdef MISTAKE
  auto y = nk::index<"batch">(x, chosen);
#else
  auto y = nk::gather<"batch">(x, chosen);
#endif
  (void)y;
}
