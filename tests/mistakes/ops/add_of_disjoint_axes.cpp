// expect: elementwise: neither operand's axes are a subset of the other's
// facts: seq | vocab, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, seq>& row, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = row + table;
#else
  auto y = nk::outer(row, table);
#endif
  (void)y;
}
