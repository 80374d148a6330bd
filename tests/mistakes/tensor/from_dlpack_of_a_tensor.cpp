// expect: from_dlpack takes what another library hands out
// facts: batch | embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

auto f(const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  return nk::from_dlpack<nk::f32, batch, embed>(x);
#else
  return nk::from_dlpack<nk::f32, batch, embed>(nk::to_dlpack(x));
#endif
}
