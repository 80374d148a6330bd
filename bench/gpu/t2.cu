// T2: a training step of a perceptron, 784-512-512-10, on batches of 128.
#include <napkin/optim/sgd.hpp>

#include "rung.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", nk::benched::sized(128, 16)> {};
struct pixel : nk::dim<"pixel", nk::benched::sized(784, 48)> {};
struct first : nk::dim<"first", nk::benched::sized(512, 32)> {};
struct second : nk::dim<"second", nk::benched::sized(512, 32)> {};
struct digit : nk::dim<"digit", 10> {};

struct perceptron {
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::nn::linear<pixel, first>, in),
                           (nk::nn::linear<first, second>, between), (nk::nn::linear<second, digit>, out));

  constexpr auto loss(nk::input<nk::f32, batch, pixel> images, nk::input<nk::i32, batch> digits) const {
    const auto h = nk::relu(between(nk::relu(in(images))));  // [batch, second]
    return nk::cross_entropy<"digit">(out(h), digits);
  }
};

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {step_case<nk::train_step<perceptron, nk::sgd, nk::cuda>>("perceptron f32")};
}
