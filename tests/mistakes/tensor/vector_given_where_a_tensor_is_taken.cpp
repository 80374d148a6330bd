// expect: a std::vector or an array has no axes, and becomes a tensor only where the tensor
// facts: seq | vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
using row = nk::tensor<nk::f32, seq>;

float first_of(const row& x);

float f(const std::vector<float>& v) {
#ifdef MISTAKE
  return first_of(v);
#else
  return first_of(row(v));
#endif
}
