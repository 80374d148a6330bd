// expect: is declared as something else than its argument is
// facts: batch, embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};
nk::tensor<nk::f32, batch, embed> x;

#ifdef MISTAKE
auto g = nk::grad([](const nk::tensor<float, batch, embed>& a) { return nk::sum(a); })(x);
#else
auto g = nk::grad([](const auto& a) { return nk::sum(a); })(x);
#endif
