// expect: an argument is no tensor: a number goes outside
// facts: einsum
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

void f() {
  nk::tensor<float, batch, hidden> x;
  nk::tensor<float, hidden> w;
#ifdef MISTAKE
  nk::tensor y = nk::einsum<"batch hidden, hidden, -> batch">(x, w, 0.5f);
#else
  nk::tensor y = nk::einsum<"batch hidden, hidden -> batch">(x, w) * 0.5f;
#endif
  (void)y;
}
