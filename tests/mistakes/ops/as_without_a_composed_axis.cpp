// expect: as: the tensor must have exactly one composed axis
// facts: model | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::as<"model">(x) + 1;
#else
  auto y = nk::as<"model">(nk::merge<"seq", "hidden">(x)) + 1;
#endif
  (void)y;
}
