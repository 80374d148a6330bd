// expect: mean: the mean of integers is no integer; cast<f32>(x) first
// facts: i32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f(const nk::tensor<nk::i32, batch, seq>& tokens) {
#ifdef MISTAKE
  auto y = nk::mean<"seq">(tokens) * 2;
#else
  auto y = nk::mean<"seq">(nk::cast<nk::f32>(tokens)) * 2;
#endif
  (void)y;
}
