// expect: write cast<T>(x)
// facts: f32 | bf16
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  nk::tensor<nk::bf16, batch, seq> y = x;
#else
  nk::tensor<nk::f32, batch, seq> y = x;
#endif
  y.numel();
}
