// expect: matmul: the second operand has no axis of the name
// facts: seq | hidden, out
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, seq> x) const {
    const auto y = nk::matmul(x, weight);
    return nk::mean(y * y);
  }
#else
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const {
    const auto y = nk::matmul(x, weight);
    return nk::mean(y * y);
  }
#endif
};

int main() {  // what follows is no further error
  using step = nk::train_step<model, nk::adamw>;
  nk::trainer<step> trainer(nk::seed{1});
  const std::vector<float> x(32);
  return trainer.step(0.1f, x).loss > static_cast<float>(step::cost.flops.matmul);
}
