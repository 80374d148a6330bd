// expect: the tensor has no axis of this name
// facts: embd | embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

void f(const nk::tensor<nk::f32, embed>& x) {
#ifdef MISTAKE
  auto y = nk::softmax<"embd">(x) * 2;
#else
  auto y = nk::softmax<"embed">(x) * 2;
#endif
  (void)y;
}
