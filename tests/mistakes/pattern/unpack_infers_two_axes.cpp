// -1 for height and width, as in reshape.
// expect: unpack: only one axis of the shapes can be inferred
// facts: seq | height | width
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto [y] = nk::unpack<"batch * hidden">(
      x, nk::packed_shapes<nk::axes<nk::inferred<"height">, nk::inferred<"width">>>{});
#else
  auto [y] = nk::unpack<"batch * hidden">(
      x, nk::packed_shapes<nk::axes<nk::inferred<"height">, nk::dim<"width", 3>>>{});
#endif
  (void)y;
}
