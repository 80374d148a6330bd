// expect: from_values, tensor(v): the values must lie behind one another and be of the tensor's own dtype
// facts: f32 | double
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  auto y = nk::from_values<nk::f32, seq>(std::vector<double>(6));
#else
  auto y = nk::from_values<nk::f32, seq>(std::vector<float>(6));
#endif
  (void)y;
}
