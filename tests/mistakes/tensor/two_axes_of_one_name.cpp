// expect: tensor: two axes bear one name
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  nk::tensor<nk::f32, seq, batch, seq> x;
#else
  nk::tensor<nk::f32, seq, batch, nk::primed<seq>> x;
#endif
  x(0, 0, 0) = 1;
}
