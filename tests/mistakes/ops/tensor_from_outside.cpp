// expect: a traced function (a loss, what fn or grad are given) mixes its own values with a tensor from
// outside
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

const auto outside = nk::ones<nk::f32, hidden>();

void f() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto y = nk::fn([](auto a) { return a * outside; })(x);
#else
  auto y = nk::fn([](auto a, auto b) { return a * b; })(x, outside);
#endif
  (void)y;
}
