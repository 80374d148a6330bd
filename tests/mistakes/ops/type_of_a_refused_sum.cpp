// expect: neither operand's axes are a subset
// facts: seq | vocab, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 4> {};
struct vocab : nk::dim<"vocab", 8> {};
struct hidden : nk::dim<"hidden", 6> {};

using bias = nk::tensor<nk::f32, seq>;
using weight = nk::tensor<nk::f32, vocab, hidden>;

// The type alone is asked for: the sum is never computed.
#ifdef MISTAKE
using shifted = decltype(std::declval<weight>() + std::declval<bias>());
#else
using shifted = decltype(nk::outer(std::declval<weight>(), std::declval<bias>()));
#endif

static_assert(nk::cost<shifted>.flops.matmul == 0);
