// expect: the function that fn or grad is given must return what operations on its arguments give
// facts: fn | pair<napkin::traced<
#include <napkin/napkin.hpp>
#include <utility>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 24> {};

void f(const nk::tensor<nk::f32, batch, embed>& x) {
#ifdef MISTAKE
  auto y = nk::fn([](auto v) { return std::pair(nk::max<"embed">(v), nk::min<"embed">(v)); })(x);
#else
  auto y = nk::fn([](auto v) { return nk::max<"embed">(v) - nk::min<"embed">(v); })(x);
#endif
  (void)y;
}
