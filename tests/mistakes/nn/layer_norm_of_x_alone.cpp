// expect: a gain, and in layer_norm a bias, stand behind x
// facts: layer_norm
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, hidden>& gain,
       const nk::tensor<nk::f32, hidden>& bias) {
#ifdef MISTAKE
  auto y = nk::layer_norm(x);
#else
  auto y = nk::layer_norm<"hidden">(x, gain, bias);
#endif
  (void)y;
}
