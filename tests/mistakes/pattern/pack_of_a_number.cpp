// expect: an argument is no tensor
// facts: pack | double
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto packed = nk::pack<"*">(x, 3.0).packed;
#else
  auto packed = nk::pack<"*">(x, nk::tensor<float>(3)).packed;
#endif
  (void)packed;
}
