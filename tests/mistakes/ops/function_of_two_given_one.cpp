// expect: takes another number of arguments than there are
// facts: 2 | 1
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};
nk::tensor<nk::f32, batch, embed> x;

#ifdef MISTAKE
nk::tensor y = nk::fn([](nk::input<nk::f32, batch, embed> a, nk::input<nk::f32> b) { return a * b; })(x);
#else
nk::tensor y =
    nk::fn([](nk::input<nk::f32, batch, embed> a, nk::input<nk::f32> b) { return a * b; })(x, 2.0f);
#endif
