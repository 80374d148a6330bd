// expect: fits: this device does not say how many bytes of memory it has
// facts: board
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 64> {};
struct out : nk::dim<"out", 50> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(nk::matmul(x, weight)); }
};
using step = nk::train_step<model, nk::adamw>;
#ifdef MISTAKE
constexpr nk::device board{.name = "a board", .bandwidth = 1'000'000'000};
int main() { nk::require_fits<board, step>(); }
#else
constexpr nk::device board{.name = "a board", .memory = 200'000, .bandwidth = 1'000'000'000};
int main() { nk::require_fits<board, step>(); }
#endif
