// expect: view_as: the new axes have another number of elements
// facts: has_size<6> | but_size<8>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::view_as<nk::dim<"rows", 2>, nk::dim<"columns", 4>>(row);
#else
  auto y = nk::view_as<nk::dim<"rows", 2>, nk::dim<"columns", 3>>(row);
#endif
  (void)y;
}
