// expect: operations do not compute along an axis that is sized at run time yet, they only view it
// facts: rows | has_size<5>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};
struct cols : nk::dim<"cols", 3> {};

// The result has no such axis: nothing but the operand says that the sum would run past its end.
int main() {
  auto all = nk::ones<nk::f32, rows, cols>(nk::sized{2});
#ifdef MISTAKE
  nk::tensor<nk::f32, cols> y = nk::einsum<"rows cols, rows cols -> cols">(all, all);
#else
  auto x = nk::slice<"rows", 0, 2>(all);
  nk::tensor<nk::f32, cols> y = nk::einsum<"rows cols, rows cols -> cols">(x, x);
#endif
}
