// expect: is declared as something else than its argument is
// facts: embed, batch | batch, embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};
nk::tensor<nk::f32, batch, embed> x;

#ifdef MISTAKE
nk::tensor y = nk::fn([](nk::input<nk::f32, embed, batch> a) { return nk::exp(a); })(x);
#else
nk::tensor y = nk::fn([](nk::input<nk::f32, batch, embed> a) { return nk::exp(a); })(x);
#endif
