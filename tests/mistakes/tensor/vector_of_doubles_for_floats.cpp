// expect: from_values, tensor(v): the values must lie behind one another
// facts: f32 | double
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  nk::tensor<nk::f32, seq> x(std::vector<double>(6));
#else
  nk::tensor<nk::f32, seq> x(std::vector<float>(6));
#endif
  (void)x;
}
