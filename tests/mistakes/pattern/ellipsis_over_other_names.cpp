// numpy lines up what stands under '...' by position.
// expect: '...' lines up axes of different names
// facts: batch | seq | at_column<12>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, hidden>& x, const nk::tensor<nk::f32, seq, hidden>& y) {
#ifdef MISTAKE
  auto scores = nk::einsum<"... hidden, ... hidden -> ...">(x, y);
#else
  auto scores = nk::einsum<"batch hidden, seq hidden -> batch seq">(x, y);
#endif
  (void)scores;
}
