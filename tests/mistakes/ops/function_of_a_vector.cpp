// expect: operations are of tensors, views, expressions and numbers
// facts: vector
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const std::vector<float>& v) {
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto a) { return a * 2; })(v);
#else
  nk::tensor y = nk::fn([](auto a) { return a * 2; })(nk::tensor<nk::f32, batch>(v));
#endif
  (void)y;
}
