// expect: the tensor has no axis of this name
// facts: hidde | perhaps
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::log_softmax<"hidde">(x);
#else
  auto y = nk::log_softmax<"hidden">(x);
#endif
  (void)y;
}
