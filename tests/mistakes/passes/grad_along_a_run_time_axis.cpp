// expect: operations do not compute along an axis that is sized at run time yet, they only view it
#include <napkin/napkin.hpp>
namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};

int main() {
  auto all = nk::ones<nk::f32, rows>(nk::sized{2});
#ifdef MISTAKE
  auto x = all;
#else
  auto x = nk::slice<"rows", 0, 2>(all);
#endif
  auto g = nk::grad([](auto v) { return nk::sum(v * v); })(x);
  (void)g;
}
