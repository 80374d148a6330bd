// expect: an axis is said by its name, a string between angle brackets
// facts: rms_norm | types<embed>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 8> {};

void f(const nk::tensor<nk::f32, seq, embed>& x, const nk::tensor<nk::f32, embed>& gain) {
#ifdef MISTAKE
  nk::tensor y = nk::rms_norm<embed>(x, gain);
#else
  nk::tensor y = nk::rms_norm<"embed">(x, gain);
#endif
}
