// expect: a view was asked for, but no strides say this
// facts: hidden, vocab
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::view_as<vocab, nk::dim<"column", 8>>(nk::transpose<"vocab", "hidden">(table));
#else
  auto y = nk::view_as<nk::dim<"row", 16>, nk::dim<"column", 16>>(table);
#endif
  (void)y;
}
