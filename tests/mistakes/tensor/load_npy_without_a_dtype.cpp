// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

#ifdef MISTAKE
auto x = nk::load_npy<batch, embed>("x.npy");
#else
auto x = nk::load_npy<nk::f32, batch, embed>("x.npy");
#endif
