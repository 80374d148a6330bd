// expect: dim: the name of an axis is letters, digits and underscores
// facts: two words
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

#ifdef MISTAKE
struct wrong : nk::dim<"two words", 2> {};
#else
struct wrong : nk::dim<"two_words", 2> {};
#endif
