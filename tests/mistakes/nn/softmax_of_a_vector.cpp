// expect: a std::vector or an array has no named axes
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

auto f(const std::vector<float>& v) {
#ifdef MISTAKE
  return nk::eval(nk::softmax<"batch">(v));
#else
  return nk::eval(nk::softmax<"batch">(nk::tensor<nk::f32, batch>(v)));
#endif
}
