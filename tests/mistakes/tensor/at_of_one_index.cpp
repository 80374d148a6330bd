// expect: x(i, j, ...) needs one index for each axis
// facts: expected<2
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = table.at(1);
#else
  auto y = table.at(1, 2);
#endif
  (void)y;
}
