// expect: a std::vector or an array has no named axes
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

auto f(const nk::tensor<nk::f32, batch, embed>& x, const std::vector<float>& v) {
#ifdef MISTAKE
  return nk::eval(nk::maximum(x, v));
#else
  return nk::eval(nk::maximum(x, nk::tensor<nk::f32, embed>(v)));
#endif
}
