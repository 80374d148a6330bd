// expect: an axis is said by its name, a string between angle brackets
// facts: permute | types<embed, batch, seq>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, batch, seq, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::permute<embed, batch, seq>(x);
#else
  nk::tensor y = nk::permute<"embed", "batch", "seq">(x);
#endif
}
