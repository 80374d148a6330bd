// expect: the element type stands first, tensor<f32, batch, hidden>
// expect: and is one of f64 f32
// facts: type
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

#ifdef MISTAKE
nk::tensor<std::size_t, batch> lengths;
#else
nk::tensor<nk::i64, batch> lengths;
#endif
