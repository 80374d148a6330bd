// expect: an axis would change its size
// facts: vocab | has_size<32> | hidden | but_size<8>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct hidden : nk::dim<"hidden", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

void f(const nk::tensor<nk::f32, vocab, hidden>& table) {
#ifdef MISTAKE
  auto y = nk::diagonal<"vocab", "hidden">(table);
#else
  auto y = nk::diagonal<"vocab", "hidden">(nk::slice<"vocab", 0, 8>(table));
#endif
  (void)y;
}
