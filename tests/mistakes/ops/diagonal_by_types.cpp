// expect: an axis is said by its name, a string between angle brackets
// facts: diagonal | types<seq, key>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct key : nk::dim<"key", 6> {};

void f(const nk::tensor<nk::f32, seq, key>& x) {
#ifdef MISTAKE
  nk::tensor y = nk::diagonal<seq, key>(x);
#else
  nk::tensor y = nk::diagonal<"seq", "key">(x);
#endif
}
