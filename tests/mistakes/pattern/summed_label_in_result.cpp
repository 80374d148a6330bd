// expect: a label is listed as summed but stands in the result
// facts: vocab | at_column<3>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, seq>& row, const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::einsum_summing<"s, vocab h -> vocab", nk::summed<"s", "h", "vocab">>(row, table);
#else
  auto y = nk::einsum_summing<"s, vocab h -> vocab", nk::summed<"s", "h">>(row, table);
#endif
  (void)y;
}
