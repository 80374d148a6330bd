// expect: the tensor has no axis of this name
// facts: hiden | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct hidden : nk::dim<"hidden", 4> {};

int main() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto g = nk::grad([](auto v) { return nk::sum(nk::mean<"hiden">(v * v)); })(x);
#else
  auto g = nk::grad([](auto v) { return nk::sum(nk::mean<"hidden">(v * v)); })(x);
#endif
  (void)g;
}
