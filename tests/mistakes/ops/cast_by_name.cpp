// expect: cast: this is no element type
// facts: f64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::cast<"f64">(x);
#else
  nk::tensor y = nk::cast<nk::f64>(x);
#endif
}
