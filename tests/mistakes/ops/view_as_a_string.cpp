// expect: a new axis is said by its type, which has its size
// facts: view_as
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::view_as<"seq">(row);
#else
  auto y = nk::view_as<nk::dim<"rows", 2>, nk::dim<"columns", 3>>(row);
#endif
  (void)y;
}
