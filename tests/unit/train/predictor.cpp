// A predictor follows the trainer whose parameters it reads, with a batch of its own.
#include "napkin/train/predictor.hpp"

#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/trainer.hpp"

namespace nk = napkin;

namespace {

struct in : nk::dim<"in", 2> {};
struct out : nk::dim<"out", 3> {};
template <std::size_t Batch>
struct model {
  using batch = nk::dim<"batch", Batch>;
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, out>, weight));
  constexpr auto logits(nk::input<nk::f32, batch, in> x, nk::input<nk::f32> scale) const {
    return nk::dot<"in">(x, weight) * scale;
  }
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32> scale) const {
    return nk::sum(logits(x, scale));
  }
};

}  // namespace

TEST_CASE("predictor: a model's function of its trained parameters") {
  nk::trainer<nk::train_step<model<4>, nk::sgd>> trainer(nk::seed{1}, {.clip_norm = 0});
  for (std::size_t i = 0; i < 6; ++i) trainer.value(0).data[i] = static_cast<float>(i);  // 0 1 2; 3 4 5
  nk::predictor<model<1>, &model<1>::logits> predict(trainer.value_pointers());
  const std::vector<float> x = {1, 10};
  const std::array<float, 1> scale = {2};
  const auto first = predict(x, scale);
  REQUIRE(first.size() == 3);
  CHECK(std::vector<float>(first.begin(), first.end()) == std::vector<float>{60, 82, 104});

  trainer.step(1, std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0}, scale);  // takes 2 from the first row
  const auto second = predict(x, scale);
  CHECK(std::vector<float>(second.begin(), second.end()) == std::vector<float>{56, 78, 100});

  const auto third = predict(x, 3.0f);  // a number for an input without axes
  CHECK(std::vector<float>(third.begin(), third.end()) == std::vector<float>{84, 117, 150});
  trainer.step(1, std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0}, 2.0f);
  const auto fourth = predict(x, 1.0f);
  CHECK(std::vector<float>(fourth.begin(), fourth.end()) == std::vector<float>{26, 37, 48});
}

TEST_CASE("predictor: what does not fit is refused") {
  nk::trainer<nk::train_step<model<4>, nk::sgd>> trainer(nk::seed{1});
  nk::predictor<model<1>, &model<1>::logits> predict(trainer.value_pointers());
  CHECK_THROWS_AS(predict(std::vector<float>(3), std::vector<float>(1)), nk::input_error);
  CHECK_THROWS_AS(predict(std::vector<float>(2), std::vector<float>(2)), nk::input_error);
  const std::vector<const void*> none;
  using of_one = nk::predictor<model<1>, &model<1>::logits>;
  CHECK_THROWS_AS(of_one(none), nk::error);
}
