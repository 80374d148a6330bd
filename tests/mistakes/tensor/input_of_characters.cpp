// expect: the element type stands first, tensor<f32, batch, hidden>
// facts: char
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

#ifdef MISTAKE
nk::input<char, batch> x;
#else
nk::input<nk::u8, batch> x;
#endif
