// The memory of a convolutional network that computes in f32, f64 and bf16.
#include "napkin/nn/convolution.hpp"

#include "napkin/nn/loss.hpp"
#include "napkin/nn/pooling.hpp"
#include "trained.hpp"

namespace convolution_test {  // named: g++ 12 takes templates of unnamed namespaces, as arguments, for one

namespace nk = napkin;

struct height : nk::dim<"height", 8> {};
struct width : nk::dim<"width", 8> {};
struct gray : nk::dim<"gray", 1> {};
struct down : nk::dim<"down", 3> {};
struct across : nk::dim<"across", 3> {};
struct edges : nk::dim<"edges", 6> {};
struct digit : nk::dim<"digit", 10> {};
using halves = nk::param<nk::dim<"height", 4>, nk::dim<"width", 4>, edges, digit>;

template <class T, std::size_t Batch>
struct convolutional {
  using batch = nk::dim<"batch", Batch>;
  using first_layer = nk::nn::conv<gray, edges, nk::nn::along<height, down>, nk::nn::along<width, across>>;
  BOOST_HANA_DEFINE_STRUCT(convolutional, (first_layer, first), (halves, head), (nk::param<digit>, bias));

  constexpr auto loss(nk::input<nk::f32, batch, height, width, gray> x, nk::input<nk::u8, batch> y) const {
    const auto a = nk::max_pool<2, "height", "width">(nk::relu(first(x)));  // [batch, 4, 4, edges]
    const auto b = nk::dot<"height", "width", "edges">(nk::cast<T>(a), nk::cast<T>(head));
    return nk::cross_entropy<"digit">(nk::cast<nk::f32>(b) + bias, y);
  }
};

template <class T, std::size_t Batch>
struct example {
  static void run() {
    memory_test::check_optimizers<convolutional<T, Batch>>(
        Batch, std::vector<float>(Batch * height::size * width::size, 0.5f),
        std::vector<std::uint8_t>(Batch, std::uint8_t{3}));
  }
};

}  // namespace convolution_test

TEST_CASE("memory: a convolutional network takes what its step says, to the byte") {
  memory_test::check_all<convolution_test::example>();
}
