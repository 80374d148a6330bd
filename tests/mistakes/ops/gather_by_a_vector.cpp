// expect: a std::vector or an array has no named axes
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};
struct pick : nk::dim<"pick", 3> {};

auto f(const nk::tensor<nk::f32, batch, embed>& x, const std::vector<int>& chosen) {
#ifdef MISTAKE
  return nk::eval(nk::gather<"embed">(x, chosen));
#else
  return nk::eval(nk::gather<"embed">(x, nk::tensor<nk::i32, pick>(chosen)));
#endif
}
