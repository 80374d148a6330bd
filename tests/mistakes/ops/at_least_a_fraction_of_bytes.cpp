// expect: a floating-point number beside integers would lose its fraction
// facts: u8
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct height : nk::dim<"height", 28> {};
struct width : nk::dim<"width", 28> {};

void f(const nk::tensor<nk::u8, height, width>& pixels) {
#ifdef MISTAKE
  auto ink = pixels >= 0.5;
#else
  auto ink = pixels >= 128;
#endif
  (void)ink;
}
