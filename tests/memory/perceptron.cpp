// The memory of a perceptron that computes in f32, f64 and bf16.
#include "napkin/nn/activation.hpp"
#include "trained.hpp"

namespace perceptron_test {  // named: g++ 12 takes templates of unnamed namespaces, as arguments, for one

namespace nk = napkin;

struct feature : nk::dim<"feature", 24> {};
struct hidden : nk::dim<"hidden", 40> {};
struct second : nk::dim<"second", 28> {};

template <class T, std::size_t Batch>
struct perceptron {
  using batch = nk::dim<"batch", Batch>;
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<feature, hidden>, up), (nk::param<hidden>, bias),
                           (nk::param<hidden, second>, middle), (nk::param<second>, out));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto h = nk::gelu(nk::dot<"feature">(nk::cast<T>(x), nk::cast<T>(up)) + nk::cast<T>(bias));
    const auto g = nk::tanh(nk::dot<"hidden">(h, nk::cast<T>(middle)));
    const auto error = nk::cast<nk::f32>(nk::dot<"second">(g, nk::cast<T>(out))) - y;
    return nk::mean(error * error);
  }
};

template <class T, std::size_t Batch>
struct example {
  static void run() {
    memory_test::check_optimizers<perceptron<T, Batch>>(
        Batch, std::vector<float>(Batch * feature::size, 0.5f), std::vector<float>(Batch, 1.0f));
  }
};

}  // namespace perceptron_test

TEST_CASE("memory: a perceptron takes what its step says, to the byte") {
  memory_test::check_all<perceptron_test::example>();
}

TEST_CASE("memory: with micro-batches") {
  using namespace perceptron_test;
  using step = nk::train_step<perceptron<nk::f32, 4>, nk::adamw, nk::micro_batches<3>>;
  memory_test::check<step>(4, std::vector<float>(3 * 4 * feature::size, 0.5f),
                           std::vector<float>(3 * 4, 1.0f));
}
