// expect: a new axis is said by its type, which has its size
// facts: view_as | 16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct rows : nk::dim<"rows", 16> {};
struct columns : nk::dim<"columns", 2> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::view_as<16, 2>(x);
#else
  auto y = nk::view_as<rows, columns>(x);
#endif
  (void)y;
}
