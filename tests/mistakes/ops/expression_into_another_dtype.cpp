// expect: assignment: the element types differ
// facts: f32 | bf16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  nk::tensor<nk::bf16, seq> y = row + 1;
#else
  nk::tensor<nk::bf16, seq> y = nk::cast<nk::bf16>(row + 1);
#endif
  (void)y;
}
