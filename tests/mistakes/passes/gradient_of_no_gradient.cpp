// expect: gradient_of: the first type must be a gradient's
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct hidden : nk::dim<"hidden", 8> {};
using vector = nk::tensor<nk::f32, hidden>;

struct function {
  constexpr auto operator()(auto x) const { return nk::sum(x * x); }
};

int main() {
#ifdef MISTAKE
  using step = nk::gradient_of<function, vector>;
#else
  using step = nk::gradient_of<decltype(nk::grad(function{})), vector>;
#endif
  return nk::conventions::torch<step>.total() == 0 ? 0 : 1;
}
