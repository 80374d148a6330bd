// expect: sized{...} needs one size for each axis that is sized at run time
// facts: expected<1> | given<2>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct rows : nk::dim<"rows", nk::up_to<8>> {};

void f() {
#ifdef MISTAKE
  nk::tensor<nk::f32, rows, seq> x(nk::sized{3, 6});
#else
  nk::tensor<nk::f32, rows, seq> x(nk::sized{3});
#endif
  x.numel();
}
