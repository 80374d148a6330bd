// expect: numpy has no such dtype
// facts: of_type | bf16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 24> {};

void f(const nk::tensor<nk::bf16, embed>& x) {
#ifdef MISTAKE
  nk::save_npy("x.npy", x);
#else
  nk::save_npy("x.npy", nk::eval(nk::cast<nk::f32>(x)));
#endif
}
