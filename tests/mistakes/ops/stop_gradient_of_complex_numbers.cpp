// expect: arithmetic is of numbers, and b8 and complex elements are none here
// facts: c64
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row, const nk::tensor<nk::c64, seq>& wave) {
#ifdef MISTAKE
  auto y = nk::stop_gradient(wave);
#else
  auto y = nk::stop_gradient(row);
#endif
  (void)wave, (void)row, (void)y;
}
