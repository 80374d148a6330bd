// expect: an axis is said by its name, a string between angle brackets
// facts: concat | types<seq>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, seq, embed>& x, const nk::tensor<nk::f32, seq, embed>& y) {
#ifdef MISTAKE
  nk::tensor joined = nk::concat<seq>(x, y);
#else
  nk::tensor joined = nk::concat<"seq">(x, y);
#endif
}
