// expect: an argument is no tensor
// facts: rearrange | vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct height : nk::dim<"height", 2> {};
struct width : nk::dim<"width", 3> {};

void f() {
  const std::vector<float> pixels(6);
#ifdef MISTAKE
  nk::tensor image = nk::rearrange<"height width -> width height">(pixels);
#else
  nk::tensor image = nk::rearrange<"height width -> width height">(nk::tensor<float, height, width>(pixels));
#endif
  (void)image;
}
