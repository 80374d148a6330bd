// expect: this axis is sized at run time, so that the compiler does not know where it ends
// facts: gather | rows
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", nk::up_to<4>> {};
struct rows : nk::dim<"rows", nk::up_to<9>> {};
struct cols : nk::dim<"cols", 3> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::f32, rows, cols>& x, const nk::tensor<nk::i32, batch>& i) {
  nk::tensor y = nk::gather<"rows">(x, i);
}
#else
void f(const nk::tensor<nk::f32, rows, cols>& x, const nk::tensor<nk::i32, batch>& i) {
  nk::tensor y = nk::gather<"cols">(x, i);
}
#endif
