// expect: !, && and || are of b8
// facts: u8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::u8, batch, seq>& padding, const nk::tensor<nk::u8, seq>& hidden) {
#ifdef MISTAKE
  auto masked = padding || hidden;
#else
  auto masked = padding != 0 || hidden != 0;
#endif
  (void)masked;
}
