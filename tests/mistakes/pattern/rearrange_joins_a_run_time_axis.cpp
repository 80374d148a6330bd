// expect: operations do not compute along an axis that is sized at run time yet
// facts: rearrange | later | 9
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 5> {};
struct later : nk::dim<"later", nk::up_to<9>> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::f32, batch, later>& x) {
  auto y = nk::rearrange<"batch later -> (batch later)">(x);
}
#else
void f(const nk::tensor<nk::f32, batch, later>& x) {
  auto y = nk::rearrange<"batch later -> (batch later)">(nk::slice<"later", 0, 4>(x));
}
#endif
