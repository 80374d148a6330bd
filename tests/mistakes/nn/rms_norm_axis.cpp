// expect: the tensor has no axis of this name
// facts: embed | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, hidden>& gain) {
#ifdef MISTAKE
  auto y = nk::rms_norm<"embed">(x, gain);
#else
  auto y = nk::rms_norm<"hidden">(x, gain);
#endif
  (void)y;
}
