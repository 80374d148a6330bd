// expect: an axis that is sized at run time stays one axis
// facts: reduce | later | 8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct later : nk::dim<"later", nk::up_to<8>> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::f32, batch, later>& x) {
  nk::tensor y = nk::reduce<"batch (a b) -> batch a", "sum", nk::dim<"b", 2>>(x);
}
#else
void f(const nk::tensor<nk::f32, batch, later>& x) {
  nk::tensor y = nk::reduce<"(a b) later -> later a", "sum", nk::dim<"b", 2>>(x);
}
#endif
