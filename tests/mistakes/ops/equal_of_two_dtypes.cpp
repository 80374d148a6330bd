// expect: the operands differ in dtype and nothing is promoted unasked
// facts: i32 | u8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

void f(const nk::tensor<nk::i32, batch>& predicted, const nk::tensor<nk::u8, batch>& labels) {
#ifdef MISTAKE
  auto right = predicted == labels;
#else
  auto right = predicted == nk::cast<nk::i32>(labels);
#endif
  (void)right;
}
