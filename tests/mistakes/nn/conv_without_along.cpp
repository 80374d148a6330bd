// expect: conv: behind the channels stand the axes that windows move along, each with the taps of its kernel
// facts: channel, feature, height, kernel
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct height : nk::dim<"height", 8> {};
struct kernel : nk::dim<"kernel", 3> {};
struct channel : nk::dim<"channel", 3> {};
struct feature : nk::dim<"feature", 5> {};

void f(const nk::tensor<nk::f32, batch, height, channel>& x) {
#ifdef MISTAKE
  nk::nn::conv<channel, feature, height, kernel> layer;
#else
  nk::nn::conv<channel, feature, nk::nn::along<height, kernel>> layer;
#endif
  (void)x, (void)layer;
}
