// expect: mixes its own values with a tensor from outside
// facts: batch, seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 5> {};
nk::tensor<nk::f32, batch, seq> before;

#ifdef MISTAKE
auto joined = nk::fn([](auto x) { return nk::concat<"seq">(before, x); })(before);
#else
auto joined = nk::fn([](auto y, auto x) { return nk::concat<"seq">(y, x); })(before, before);
#endif
