// expect: view_as: what is not computed yet has no elements to view
// facts: batch | rows
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct rows : nk::dim<"rows", 16> {};
struct columns : nk::dim<"columns", 2> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::view_as<rows, columns>(x * 2);
#else
  auto y = nk::view_as<rows, columns>(nk::eval(x * 2));
#endif
  (void)y;
}
