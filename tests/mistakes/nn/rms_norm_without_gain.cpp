// expect: a gain, and in layer_norm a bias, stand behind x
// facts: rms_norm | given<0>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 8> {};

void f() {
  auto x = nk::ones<nk::f32, batch, embed>();
  auto gain = nk::ones<nk::f32, embed>();
#ifdef MISTAKE
  auto y = nk::rms_norm<"embed">(x, 1e-6);
#else
  auto y = nk::rms_norm<"embed">(x, gain, 1e-6);
#endif
  (void)y, (void)gain;
}
