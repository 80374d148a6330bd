// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: batch
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

auto f(const std::vector<float>& v) {
#ifdef MISTAKE
  return nk::from_values<batch>(v);
#else
  return nk::from_values<nk::f32, batch>(v);
#endif
}
