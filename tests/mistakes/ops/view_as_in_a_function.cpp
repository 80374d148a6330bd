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
  nk::tensor y = nk::fn([](auto a) { return nk::view_as<rows, columns>(a); })(x);
#else
  nk::tensor y = nk::fn(
      [](auto a) { return nk::split<"(batch hidden)", rows, columns>(nk::merge<"batch", "hidden">(a)); })(x);
#endif
  (void)y;
}
