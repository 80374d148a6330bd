// expect: an axis that is sized at run time stays one axis: it is not joined with another, not taken apart and not made
// facts: positions | later | 9
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct later : nk::dim<"later", nk::up_to<9>> {};

// In a traced function x says how long it is.
#ifdef MISTAKE
void f(const nk::tensor<nk::f32, batch, later>& x) { nk::tensor y = nk::positions<later>(x); }
#else
void f(const nk::tensor<nk::f32, batch, later>& x) {
  nk::tensor y = nk::fn([](auto t) { return nk::cast<nk::f32>(nk::positions<later>(t)) * t; })(x);
}
#endif
