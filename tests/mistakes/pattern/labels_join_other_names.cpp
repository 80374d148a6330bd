// expect: one label means axes of different names
// facts: seq | key | at_column<5>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, seq>& row) {
#ifdef MISTAKE
  auto y = nk::einsum<"seq, seq hidden -> hidden">(row, nk::tensor<nk::f32, nk::dim<"key", 6>, hidden>());
#else
  auto y = nk::einsum<"seq, seq hidden -> hidden">(row, nk::tensor<nk::f32, seq, hidden>());
#endif
  (void)y;
}
