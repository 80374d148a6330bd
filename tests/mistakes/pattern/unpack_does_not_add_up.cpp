// expect: unpack: the shapes do not add up to the size of the packed axis
// facts: seq | has_size<6> | but_size<4>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto [a, y] = nk::unpack<"batch * hidden">(x, nk::packed_shapes<nk::axes<>, nk::axes<nk::dim<"i", 3>>>{});
#else
  auto [a, y] = nk::unpack<"batch * hidden">(x, nk::packed_shapes<nk::axes<>, nk::axes<nk::dim<"i", 5>>>{});
#endif
  (void)x, (void)y;
}
