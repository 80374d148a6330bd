// expect: the tensor has no axis of this name
// facts: dot | out
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct hidden : nk::dim<"hidden", 4> {};
struct out : nk::dim<"out", 3> {};

int main() {
  auto x = nk::ones<nk::f32, batch, hidden>();
  auto w = nk::ones<nk::f32, out, hidden>();
#ifdef MISTAKE
  auto [value, dx] = nk::value_and_grad([](auto a, auto b) { return nk::sum(nk::dot<"out">(a, b)); })(x, w);
#else
  auto [value, dx] =
      nk::value_and_grad([](auto a, auto b) { return nk::sum(nk::dot<"hidden">(a, b)); })(x, w);
#endif
  (void)value, (void)dx;
}
