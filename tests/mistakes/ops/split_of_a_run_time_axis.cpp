// expect: this axis is sized at run time, so that the compiler does not know where it ends
// facts: batch | split
#include <napkin/napkin.hpp>

namespace nk = napkin;

using batch = nk::dim<"batch", nk::up_to<64>>;
struct embed : nk::dim<"embed", 24> {};
struct micro_batch : nk::dim<"micro_batch", 4> {};
struct row : nk::dim<"row", 16> {};

void f(const nk::tensor<nk::f32, batch, embed>& x,
       const nk::tensor<nk::f32, nk::dim<"batch", 64>, embed>& full) {
#ifdef MISTAKE
  auto y = nk::split<"batch", micro_batch, row>(x);
#else
  auto y = nk::split<"batch", micro_batch, row>(full);
#endif
  (void)x, (void)full, (void)y;
}
