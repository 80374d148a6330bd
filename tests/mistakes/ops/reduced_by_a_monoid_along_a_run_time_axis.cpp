// expect: an axis that is sized at run time stays one axis
// facts: rows | has_size<5>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};
struct cols : nk::dim<"cols", 3> {};
struct longest {
  static constexpr float identity = 0;
  constexpr auto operator()(auto a, auto b) const { return nk::maximum(a, b); }
};

// A tree of as many pairs as the compiler knows.
int main() {
  auto all = nk::ones<nk::f32, rows, cols>(nk::sized{2});
#ifdef MISTAKE
  nk::tensor y = nk::reduce<"rows cols -> cols", longest>(all);
#else
  nk::tensor y = nk::reduce<"rows cols -> rows", longest>(all);
#endif
}
