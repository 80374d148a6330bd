// expect: an expression is not computed before it is assigned
// facts: save_npy
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

auto f(const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  nk::save_npy("x.npy", x * 2);
#else
  nk::save_npy("x.npy", nk::eval(x * 2));
#endif
}
