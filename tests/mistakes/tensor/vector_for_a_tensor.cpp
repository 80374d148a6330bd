// expect: a std::vector or an array has no axes, and becomes a tensor only where the tensor
// facts: seq | vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(nk::tensor<nk::f32, seq>& x, const std::vector<float>& v) {
#ifdef MISTAKE
  x = v;
#else
  x = nk::tensor<nk::f32, seq>(v);
#endif
}
