// expect: indices must be integers
// facts: one_hot | f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::one_hot<vocab>(row);
#else
  auto y = nk::one_hot<vocab>(nk::cast<nk::i32>(row));
#endif
  (void)y;
}
