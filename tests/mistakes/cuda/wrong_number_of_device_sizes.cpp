// expect: sized{...} needs one size for each axis that is sized at run time
// facts: expected<1> | given<2>
#include <napkin/cuda.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<8>> {};
struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  nk::cuda::tensor<nk::f32, rows, seq> x(nk::sized{3, 6});
#else
  nk::cuda::tensor<nk::f32, rows, seq> x(nk::sized{3});
#endif
  (void)x.numel();
}
