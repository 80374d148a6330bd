// A step that keeps a budget of memory by making values again trains as one that keeps them: losses and
// everything that is trained, bit for bit, at any number of threads. And it takes what it says, to the byte.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/nn/activation.hpp"
#include "napkin/nn/convolution.hpp"
#include "napkin/nn/dropout.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/trainer.hpp"
#include "support/compare.hpp"
#include "support/trained_numbers.hpp"

namespace recompute_test {  // named: g++ 12 takes templates of unnamed namespaces, as arguments, for one

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};

template <std::size_t Layers>
struct config {
  using batch = recompute_test::batch;
  using seq = nk::dim<"seq", 32>;
  using vocab = nk::dim<"vocab", 48>;
  using embed = nk::dim<"embed", 32>;
  using ffn = nk::dim<"ffn", 96>;
  using heads = nk::dim<"heads", 2>;
  using kv_heads = nk::dim<"kv_heads", 2>;
  using group = nk::dim<"group", 1>;
  using hidden = nk::dim<"hidden", 16>;
  static constexpr std::size_t layers = Layers;
};

struct feature : nk::dim<"feature", 40> {};
struct wide : nk::dim<"wide", 160> {};
struct height : nk::dim<"height", 12> {};
struct width : nk::dim<"width", 12> {};
struct gray : nk::dim<"gray", 1> {};
struct edges : nk::dim<"edges", 6> {};

struct many : nk::dim<"many", 64> {};
/// Twice through dropout, and a swish that computes in bf16 (those of nn/ compute in f32).
struct noisy {
  BOOST_HANA_DEFINE_STRUCT(noisy, (nk::param<feature, wide>, first), (nk::param<wide, feature>, second),
                           (nk::param<feature, wide>, third), (nk::param<wide>, last));
  constexpr auto loss(nk::input<nk::f32, many, feature> x, nk::input<nk::i64> noise) const {
    const auto z = nk::cast<nk::bf16>(nk::dot<"feature">(x, first));
    const auto a = nk::dropout(z / (1 + nk::exp(-z)), 0.3, noise);
    const auto b = nk::dropout(nk::tanh(nk::dot<"wide">(nk::cast<nk::f32>(a), second)), 0.3, noise);
    const auto y = nk::dot<"wide">(nk::gelu(nk::dot<"feature">(b, third)), last);
    return nk::mean(y * y);
  }
};

struct convolutional {
  using layer = nk::nn::conv<gray, edges, nk::nn::along<height, nk::dim<"down", 3>>,
                             nk::nn::along<width, nk::dim<"across", 3>>>;
  using flat = nk::param<height, width, edges>;
  BOOST_HANA_DEFINE_STRUCT(convolutional, (layer, first), (flat, head));
  constexpr auto loss(nk::input<nk::f32, batch, height, width, gray> x) const {
    const auto y = nk::dot<"height", "width", "edges">(nk::gelu(first(x)), head);
    return nk::mean(y * y);
  }
};

template <class Step>
struct outcome {
  std::vector<float> losses, everything;

  template <class... Data>
  explicit outcome(const Data&... data) {
    nk::trainer<Step> trainer(nk::seed{11});
    for (int i = 0; i < 3; ++i) losses.push_back(trainer.step(1e-2, data...).loss);
    everything = nk::testing::everything_of(trainer);
  }
};

/// In Percent of the memory that the step takes without a budget.
template <std::size_t Percent, class Model, class Optimizer, class... Policies, class... Data>
void check(std::type_identity<nk::train_step<Model, Optimizer, Policies...>>, const Data&... data) {
  using kept = nk::train_step<Model, Optimizer, Policies...>;
  constexpr std::size_t budget = kept::memory.peak * Percent / 100;
  using step = nk::train_step<Model, Optimizer, Policies..., nk::recompute_to_fit<budget>>;
  constexpr nk::recomputation r = step::recomputed;
  static_assert(r.fits && r.choice > 0 && step::memory.peak <= budget);
  static_assert(r.saved == kept::memory.peak - step::memory.peak);
  constexpr std::uint64_t without = kept::cost.flops.recomputed;  // what pays by itself
  static_assert(r.flops > without && r.flops == step::cost.flops.recomputed);
  static_assert(step::cost.flops.total() - r.flops == kept::cost.flops.total() - without);
  CAPTURE(Percent, step::memory.peak, kept::memory.peak);

  const std::size_t before = nk::on_cpu::threads();
  nk::on_cpu::set_threads(1);
  const outcome<kept> expected(data...);
  REQUIRE(!expected.everything.empty());
  for (const std::size_t threads : {1u, 2u, 3u}) {
    CAPTURE(threads);
    nk::on_cpu::set_threads(threads);
    const outcome<step> found(data...);
    CHECK(nk::testing::same_bits(found.losses, expected.losses));
    CHECK(nk::testing::same_bits(found.everything, expected.everything));
  }
  nk::on_cpu::set_threads(before);
}

std::vector<float> waves(std::size_t count) {
  std::vector<float> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<float>(i * 37 % 101) / 50 - 1);
  return x;
}
std::vector<std::uint16_t> words(std::size_t count, std::size_t step) {
  std::vector<std::uint16_t> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<std::uint16_t>(i * step % 48));
  return x;
}

}  // namespace recompute_test

using namespace recompute_test;

TEST_CASE("recompute_to_fit: a transformer trains as it does without") {
  const auto text = words(4 * 32, 7), next = words(4 * 32, 11);
  check<70>(std::type_identity<nk::train_step<nk::nn::gpt<config<5>>, nk::adamw>>{}, text, next);
#if defined(NAPKIN_TEST_EVERYTHING)
  check<85>(std::type_identity<nk::train_step<nk::nn::gpt<config<5>>, nk::adamw>>{}, text, next);
#endif
}

#if defined(NAPKIN_TEST_EVERYTHING)  // minutes to compile
TEST_CASE("recompute_to_fit: in bf16, within the compiler's default limits") {
  const auto text = words(4 * 32, 7), next = words(4 * 32, 11);
  check<90>(std::type_identity<nk::train_step<nk::nn::gpt<config<5>>, nk::adamw, nk::compute_in<nk::bf16>>>{},
            text, next);
}

TEST_CASE("recompute_to_fit: grouped queries and rotary positions, in micro-batches") {
  const auto text = words(2 * 4 * 32, 7), next = words(2 * 4 * 32, 11);
  using step = nk::train_step<nk::nn::llama<config<2>>, nk::sgd, nk::micro_batches<2>>;
  check<80>(std::type_identity<step>{}, text, next);
}
#endif

TEST_CASE("recompute_to_fit: dropout draws the same noise again") {
  const std::vector<std::int64_t> noise{3};
  check<98>(std::type_identity<nk::train_step<noisy, nk::sgd>>{}, waves(64 * 40), noise);

  // Where all is made again that can be, masks are too.
  using kept = nk::train_step<noisy, nk::sgd>;
  using step = nk::train_step<noisy, nk::sgd, nk::detail::recompute_by<1000>>;
  const nk::graph_view g = step::gradient_plan::graph();
  std::size_t drawn_again = 0;
  for (std::size_t id = 0; id < g.size(); ++id)
    drawn_again += g.nodes[id].kind == nk::op::random_bits && g.nodes[id].when != nk::computed::once;
  CHECK(drawn_again == 2);
  const outcome<kept> expected(waves(64 * 40), noise);
  const outcome<step> found(waves(64 * 40), noise);
  CHECK(nk::testing::same_bits(found.losses, expected.losses));
  CHECK(nk::testing::same_bits(found.everything, expected.everything));
}

TEST_CASE("recompute_to_fit: a convolution") {
  check<80>(std::type_identity<nk::train_step<convolutional, nk::adamw>>{}, waves(4 * 12 * 12));
}
