// expect: mixes its own values with a tensor from outside
// facts: batch, seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 5> {};
nk::tensor<nk::f32, batch, seq> mask;

#ifdef MISTAKE
auto masked = nk::fn([](auto x) { return nk::where(mask > 0, x, 0); })(mask);
#else
auto masked = nk::fn([](auto x, auto m) { return nk::where(m > 0, x, 0); })(mask, mask);
#endif
