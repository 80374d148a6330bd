// expect: an axis that is sized at run time stays one axis: it is not joined with another, not taken apart and not made
// facts: rearrange | later | 9
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct later : nk::dim<"later", nk::up_to<9>> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::f32, batch, later>& x) {
  auto y = nk::rearrange<"batch later -> (batch later)">(x);
}
#else
void f(const nk::tensor<nk::f32, batch, later>& x) {
  auto y = nk::rearrange<"batch later -> later batch">(x);
  static_assert(nk::is_view<decltype(y)>);
}
#endif
