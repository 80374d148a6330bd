// expect: has no name: give it one with as
// facts: slice | seq | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x) {
#ifdef MISTAKE
  auto y = nk::slice<"(seq hidden)", 0, 8>(nk::merge<"seq", "hidden">(x));
#else
  auto y = nk::slice<"model", 0, 8>(nk::as<"model">(nk::merge<"seq", "hidden">(x)));
#endif
  (void)y;
}
