// expect: a label is missing in the result; only reduce drops axes
// facts: rearrange | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct hidden : nk::dim<"hidden", 4> {};

int main() {
  auto x = nk::ones<nk::f32, batch, hidden>();
#ifdef MISTAKE
  auto g = nk::grad([](auto a) { return nk::sum(nk::rearrange<"batch hidden -> batch">(a)); })(x);
#else
  auto g = nk::grad([](auto a) { return nk::sum(nk::reduce<"batch hidden -> batch", "sum">(a)); })(x);
#endif
  (void)g;
}
