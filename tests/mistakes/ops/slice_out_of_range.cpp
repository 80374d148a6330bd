// expect: slice: its ends must be 0 <= begin <= end <= the size of the axis
// facts: seq | has_size<6> | begins<2> | ends<7>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::slice<"seq", 2, 7>(x) * 2;
#else
  auto y = nk::slice<"seq", 2, 6>(x) * 2;
#endif
  (void)y;
}
