// expect: indices are a tensor of integers
// facts: one_hot
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i32, batch>& n) {
#ifdef MISTAKE
  auto y = nk::one_hot<seq>(3);
#else
  auto y = nk::one_hot<seq>(n);
#endif
  (void)n, (void)y;
}
