// expect: mixes its own values with a tensor from outside
// facts: batch, seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 5> {};
struct vocab : nk::dim<"vocab", 7> {};
nk::tensor<nk::i32, batch, seq> targets;
nk::tensor<nk::f32, batch, seq, vocab> scores;

#ifdef MISTAKE
auto loss = nk::fn([](auto x) { return nk::cross_entropy<"vocab">(x, targets); })(scores);
#else
auto loss = nk::fn([](auto x, auto y) { return nk::cross_entropy<"vocab">(x, y); })(scores, targets);
#endif
