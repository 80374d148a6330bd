// expect: the operands differ in dtype and nothing is promoted unasked
// facts: u8 | f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct pixel : nk::dim<"pixel", 784> {};

void f(const nk::tensor<nk::u8, batch, pixel>& images, const nk::tensor<nk::f32, pixel>& average) {
#ifdef MISTAKE
  auto brighter = images > average;
#else
  auto brighter = nk::cast<nk::f32>(images) > average;
#endif
  (void)brighter;
}
