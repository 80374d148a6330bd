// expect: an axis would change its size: these sizes must be equal
// facts: seq | has_size<6> | vocab | but_size<32>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, batch, seq, hidden>& x, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::rename<"seq", vocab>(x) + 1;
#else
  auto y = nk::rename<"vocab", nk::dim<"token", 32>>(table) + 1;
#endif
  (void)y;
}
