// expect: one label has two sizes
// facts: hidden | has_size<8> | but_size<4>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct hidden : nk::dim<"hidden", 4> {};
struct wide : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 3> {};

int main() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto w = nk::ones<nk::f32, wide, out>();
  auto y = nk::fn([](auto a, auto b) {
    return nk::relu(nk::einsum<"batch hidden, hidden out -> batch out">(a, b));
  })(x, w);
#else
  auto w = nk::ones<nk::f32, hidden, out>();
  auto y = nk::fn([](auto a, auto b) {
    return nk::relu(nk::einsum<"batch hidden, hidden out -> batch out">(a, b));
  })(x, w);
#endif
  (void)y;
}
