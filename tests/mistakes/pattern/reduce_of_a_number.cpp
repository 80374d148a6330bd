// expect: an argument is no tensor
// facts: reduce | float
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

void f() {
  nk::tensor<float, batch> losses;
#ifdef MISTAKE
  const float loss = nk::eval(nk::mean(losses));
  nk::tensor mean = nk::reduce<"batch ->", "mean">(loss);
#else
  nk::tensor mean = nk::reduce<"batch ->", "mean">(losses);
#endif
  (void)mean;
}
