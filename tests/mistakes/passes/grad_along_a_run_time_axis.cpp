// expect: operations do not compute along an axis that is sized at run time yet, they only view it
// facts: rows | has_size<5>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};

int main() {
  auto all = nk::ones<nk::f32, rows>(nk::sized{2});
#ifdef MISTAKE
  auto g = nk::grad([](auto v) { return nk::sum(v * v); })(all);
#else
  auto g = nk::grad([](auto v) { return nk::sum(v * v); })(nk::slice<"rows", 0, 2>(all));
#endif
  (void)g;
}
