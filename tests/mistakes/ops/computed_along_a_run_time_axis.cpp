// expect: operations do not compute along an axis that is sized at run time yet, they only view it
// facts: rows | has_size<5>
#include <iostream>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};
struct cols : nk::dim<"cols", 3> {};

int main() {
  auto all = nk::ones<nk::f32, rows, cols>(nk::sized{2});
#ifdef MISTAKE
  auto y = all * 2;
#else
  auto y = nk::slice<"rows", 0, 2>(all) * 2;
#endif
  static_assert(nk::cost<decltype(y)>.launches <= 1 && nk::plan_of<decltype(y)>.launches <= 1);
  nk::tensor z = y;
  std::cout << z << z(0, 0) << nk::eval(y);  // what follows is no further error
}
