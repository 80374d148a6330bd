// expect: assignment: the axes differ, by name, size or order
// facts: 5
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  nk::tensor<nk::f32, nk::dim<"seq", 5>> y = row;
#else
  nk::tensor<nk::f32, nk::dim<"seq", 6>> y = row;
#endif
  (void)y;
}
