// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

#ifdef MISTAKE
nk::tensor<batch, embed> x;
#else
nk::tensor<nk::f32, batch, embed> x;
#endif
