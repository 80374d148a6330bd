// The smallest program on the installed package: includes the umbrella, lowers one expression, so that
// the library itself is linked, and checks the result.
#include <cstdio>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

int main() {
  const auto x = nk::randn<nk::f32, batch, hidden>(nk::seed{1});
  const nk::tensor difference = nk::reduce<"batch hidden -> ", "sum">(nk::relu(x) - nk::relu(-x) - x);
  const float value = difference.data()[0];
  std::printf("relu(x) - relu(-x) - x sums to %g\n", static_cast<double>(value));
  return value == 0.0f ? 0 : 1;
}
