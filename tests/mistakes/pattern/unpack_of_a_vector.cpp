// expect: an argument is no tensor
// facts: unpack | vector<float
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct tail : nk::dim<"tail", 5> {};

void f(const std::vector<float>& values, nk::packed_shapes<nk::axes<>, nk::axes<tail>> shapes) {
#ifdef MISTAKE
  auto y = nk::unpack<"batch *">(values, shapes);
#else
  auto y = nk::unpack<"batch *">(nk::tensor<float, batch, seq>(values), shapes);
#endif
  (void)y;
}
