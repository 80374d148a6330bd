// expect: numpy has no such dtype
// facts: of_type | bf16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 24> {};

void f() {
#ifdef MISTAKE
  auto x = nk::load_npy<nk::bf16, embed>("x.npy");
#else
  auto x = nk::cast<nk::bf16>(nk::load_npy<nk::f32, embed>("x.npy"));
#endif
  (void)x;
}
