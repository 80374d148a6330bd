// expect: mixes its own values with a tensor from outside
// facts: batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 5> {};
struct vocab : nk::dim<"vocab", 7> {};
nk::tensor<nk::f32, batch, seq> values;
nk::tensor<nk::i32, batch> words;

#ifdef MISTAKE
auto table = nk::fn([](auto x) { return nk::scatter_add<vocab>(x, words); })(values);
#else
auto table = nk::fn([](auto x, auto at) { return nk::scatter_add<vocab>(x, at); })(values, words);
#endif
