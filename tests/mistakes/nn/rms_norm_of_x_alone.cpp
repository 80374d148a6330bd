// expect: a gain, and in layer_norm a bias, stand behind x
// facts: rms_norm
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, hidden>& gain) {
#ifdef MISTAKE
  auto y = nk::rms_norm(x);
#else
  auto y = nk::rms_norm<"hidden">(x, gain);
#endif
  (void)y;
}
