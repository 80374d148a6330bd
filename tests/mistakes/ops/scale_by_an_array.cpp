// expect: a std::vector or an array has no named axes
// facts: 4
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

auto f(const nk::tensor<nk::f32, batch, embed>& x, const float (&scales)[4]) {
#ifdef MISTAKE
  return nk::eval(scales * x);
#else
  return nk::eval(nk::tensor<nk::f32, batch>(scales) * x);
#endif
}
