// expect: a std::vector or an array has no axes, and becomes a tensor only where the tensor
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const std::vector<float>& v) {
#ifdef MISTAKE
  nk::tensor x = v;
#else
  nk::tensor<nk::f32, seq> x(v);
#endif
  (void)x;
}
