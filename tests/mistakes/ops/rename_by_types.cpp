// expect: an axis is said by its name, a string between angle brackets
// facts: rename | types<embed>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 8> {};
struct ffn : nk::dim<"ffn", 8> {};

void f(const nk::tensor<nk::f32, seq, embed>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::rename<embed, ffn>(x);
#else
  nk::tensor y = nk::rename<"embed", ffn>(x);
#endif
}
