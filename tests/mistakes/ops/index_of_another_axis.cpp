// expect: the tensor has no axis of this name
// facts: hidden | among<seq>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::index<"hidden", 3>(row);
#else
  auto y = nk::index<"seq", 3>(row);
#endif
  (void)y;
}
