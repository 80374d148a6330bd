// expect: tensor: its sizes multiply to 2^63 bytes or more
// facts: rows, columns
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", 10000000000> {};
struct columns : nk::dim<"columns", 10000000000> {};

void f() {
#ifdef MISTAKE
  auto x = nk::zeros<nk::f32, rows, columns>();
#else
  auto x = nk::zeros<nk::f32, rows>();
#endif
  (void)x;
}
