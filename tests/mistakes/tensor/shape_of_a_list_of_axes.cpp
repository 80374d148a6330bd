// expect: this type has no axes: shape_of, names_of, bytes_of and the like are asked of the type of a tensor
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  constexpr auto shape = nk::shape_of<nk::axes<batch, seq>>;
#else
  constexpr auto shape = nk::shape_of<decltype(x)>;
#endif
  (void)x, (void)shape;
}
