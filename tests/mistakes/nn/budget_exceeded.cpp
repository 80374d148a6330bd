// expect: budget: the training step takes more bytes of memory than it may
// facts: takes_bytes<26112> | of_at_most<10000>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(nk::matmul(x, weight)); }
};
using step = nk::train_step<model, nk::adamw>;

int main() {
#ifdef MISTAKE
  nk::require_memory<step, 10'000>();
#else
  nk::require_memory<step, 100'000>();
#endif
}
