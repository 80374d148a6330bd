// expect: the tensor has no axis of this name
// facts: embd | embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto a) {
    a = a - nk::mean<"embd">(a);
    return nk::exp(a);
  })(x);
#else
  nk::tensor y = nk::fn([](auto a) {
    a = a - nk::mean<"embed">(a);
    return nk::exp(a);
  })(x);
#endif
  (void)y;
}
