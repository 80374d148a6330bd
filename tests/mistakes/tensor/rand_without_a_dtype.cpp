// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

#ifdef MISTAKE
auto x = nk::rand<batch>(nk::seed{1});
#else
auto x = nk::rand<nk::f32, batch>(nk::seed{1});
#endif
