// expect: recompute_to_fit: whatever is made again, the training step takes more bytes than its budget
// facts: least_peak | of_at_most<20000>
#include <napkin/napkin.hpp>

struct batch : napkin::dim<"batch", 32> {};
struct feature : napkin::dim<"feature", 16> {};
struct hidden : napkin::dim<"hidden", 64> {};

struct perceptron {
  BOOST_HANA_DEFINE_STRUCT(perceptron, (napkin::param<feature, hidden>, up), (napkin::param<hidden>, down));

  constexpr auto loss(napkin::input<napkin::f32, batch, feature> x) const {
    const auto y = napkin::dot<"hidden">(napkin::gelu(napkin::dot<"feature">(x, up)), down);
    return napkin::mean(y * y);
  }
};

#ifdef MISTAKE
using step = napkin::train_step<perceptron, napkin::sgd, napkin::recompute_to_fit<20000>>;
napkin::trainer<step> trainer{napkin::seed{1}};
#else
using step = napkin::train_step<perceptron, napkin::sgd, napkin::recompute_to_fit<2000000>>;
napkin::trainer<step> trainer{napkin::seed{1}};
#endif
