// expect: the tensor has no axis of this name: the likely one stands in perhaps
// facts: hiden | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct hidden : nk::dim<"hidden", 4> {};

int main() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto a) { return a - nk::mean<"hiden">(a); })(x);
#else
  nk::tensor y = nk::fn([](auto a) { return a - nk::mean<"hidden">(a); })(x);
#endif
  (void)y;
}
