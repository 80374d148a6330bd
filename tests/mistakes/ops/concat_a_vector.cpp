// expect: a std::vector or an array has no named axes
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct more : nk::dim<"batch", 2> {};

auto f(const nk::tensor<nk::f32, batch>& x, const std::vector<float>& v) {
#ifdef MISTAKE
  return nk::eval(nk::concat<"batch">(x, v));
#else
  return nk::eval(nk::concat<"batch">(x, nk::tensor<nk::f32, more>(v)));
#endif
}
