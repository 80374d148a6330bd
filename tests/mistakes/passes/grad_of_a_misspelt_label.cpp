// expect: a label stands in one operand only, so that its axis would be summed silently
// facts: hiden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct hidden : nk::dim<"hidden", 4> {};

int main() {
  auto x = nk::ones<nk::f32, batch, hidden>();
  auto w = nk::ones<nk::f32, hidden>();
#ifdef MISTAKE
  auto g = nk::grad<1>(
      [](auto a, auto b) { return nk::sum(nk::einsum<"batch hidden, hiden -> batch">(a, b)); })(x, w);
#else
  auto g = nk::grad<1>(
      [](auto a, auto b) { return nk::sum(nk::einsum<"batch hidden, hidden -> batch">(a, b)); })(x, w);
#endif
  (void)g;
}
