// expect: dropout: it belongs in a model's loss, or in what fn, grad or value_and_grad are given
// facts: tensor
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

int main() {
  const auto x = nk::zeros<nk::f32, batch, hidden>();
  const auto noise = nk::full<nk::i64>(1);
#ifdef MISTAKE
  nk::tensor y = nk::dropout(x, 0.1, noise);
#else
  nk::tensor y = nk::fn([](auto a, auto n) { return nk::dropout(a, 0.1, n); })(x, noise);
#endif
}
