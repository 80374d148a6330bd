// expect: operations are of tensors, views, expressions and numbers
// facts: vector
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const std::vector<float>& v) {
#ifdef MISTAKE
  auto [y, slope] = nk::value_and_grad([](auto a) { return nk::sum(a * 2); })(v);
#else
  auto [y, slope] = nk::value_and_grad([](auto a) { return nk::sum(a * 2); })(nk::tensor<nk::f32, batch>(v));
#endif
  (void)slope;
  (void)y;
}
