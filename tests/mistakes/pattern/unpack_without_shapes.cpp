// expect: unpack: the second argument is what pack gave beside the tensor
// facts: unpack
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::unpack<"batch * hidden">(x);
#else
  auto y = nk::unpack<"batch * hidden">(x, nk::packed_shapes<nk::axes<>, nk::axes<nk::inferred<"rest">>>{});
#endif
  (void)y;
}
