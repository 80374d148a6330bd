// expect: an axis is sized at run time in one operand, and by the compiler in another
// facts: rows | 5
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};
struct cols : nk::dim<"cols", 3> {};

void f(const nk::tensor<nk::f32, rows, cols>& x, const nk::tensor<nk::f32, nk::dim<"rows", 5>, cols>& y) {
#ifdef MISTAKE
  nk::tensor z = x + y;
#else
  nk::tensor z = nk::slice<"rows", 0, 5>(x) + y;
#endif
}
