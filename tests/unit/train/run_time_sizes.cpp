// Training and predicting with inputs that are sized at run time: the numbers are those of a model of that
// size, and what is wrong is said before anything is changed.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "napkin/cuda.hpp"
#include "napkin/napkin.hpp"
#include "support/message_of.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t most = 8;
struct batch : nk::dim<"batch", nk::up_to<most>> {};
struct seq : nk::dim<"seq", nk::up_to<6>> {};
struct in : nk::dim<"in", 3> {};
struct hidden : nk::dim<"hidden", 16> {};
struct kind : nk::dim<"kind", 4> {};

/// The same with axes of other types.
template <class Batch>
struct classifier {
  BOOST_HANA_DEFINE_STRUCT(classifier, (nk::param<in, hidden>, up), (nk::param<hidden>, bias),
                           (nk::param<hidden, kind>, down));
  constexpr auto logits(nk::input<nk::f32, Batch, in> x) const {
    const auto h = nk::gelu(nk::dot<"in">(x, up) + bias);
    return nk::dot<"hidden">(h, down);
  }
  constexpr auto loss(nk::input<nk::f32, Batch, in> x, nk::input<nk::i32, Batch> labels) const {
    return nk::cross_entropy<"kind">(logits(x), labels);
  }
};
using open = classifier<batch>;
template <std::size_t N>
using known = classifier<nk::dim<"batch", N>>;

/// A transformer's block: two axes are open, positions are looked up, attention is causal or full.
template <class Batch, class Seq, bool Causal>
struct reader {
  struct vocab : nk::dim<"vocab", 9> {};
  struct place : nk::dim<"place", 6> {};
  BOOST_HANA_DEFINE_STRUCT(reader, (nk::param<vocab, hidden>, words), (nk::param<place, hidden>, places),
                           (nk::param<hidden, kind>, query), (nk::param<hidden, kind>, key),
                           (nk::param<hidden, kind>, value), (nk::param<kind, vocab>, head));
  constexpr auto logits(nk::input<nk::u16, Batch, Seq> tokens) const {
    const auto x =
        nk::gather<"vocab">(words, tokens) + nk::gather<"place">(places, nk::positions<Seq>(tokens));
    const auto read = nk::causal_attention<"seq", "kind">(
        nk::dot<"hidden">(x, query), nk::dot<"hidden">(x, key), nk::dot<"hidden">(x, value));
    return nk::dot<"kind">(read, head);
  }
  constexpr auto loss(nk::input<nk::u16, Batch, Seq> tokens, nk::input<nk::u16, Batch, Seq> wanted) const {
    return nk::cross_entropy<"vocab">(logits(tokens), wanted);
  }
};
template <class Model>
using trainer_of = nk::trainer<nk::train_step<Model, nk::adamw>>;

}  // namespace

TEST_CASE("a trainer takes batches of any size, and computes what a model of that size does",
          "[run time sizes]") {
  trainer_of<open> any(nk::seed{1});
  trainer_of<known<5>> five(nk::seed{1});
  trainer_of<known<most>> all(nk::seed{1});
  for (int n = 0; n < 6; ++n) {
    nk::tensor<nk::f32, batch, in> x(nk::sized{5});
    for (std::size_t i = 0; i < most * 3; ++i)
      x.data()[i] = i < 15 ? std::sin(static_cast<float>(i + 3 * static_cast<unsigned>(n)))
                           : std::numeric_limits<float>::quiet_NaN();
    nk::tensor<nk::i32, batch> y(nk::sized{5});
    for (std::size_t i = 0; i < most; ++i) y.data()[i] = i < 5 ? static_cast<int>(i * 3 + 1) % 4 : 77;
    const std::vector<float> xs(x.begin(), x.end());
    const std::vector<int> ys(y.begin(), y.end());
    const nk::step_result a = n % 2 == 0 ? any.step(1e-2, x, y) : any.step(1e-2, xs, ys);
    const nk::step_result b = five.step(1e-2, xs, ys);
    CHECK(std::abs(a.loss - b.loss) <= 1e-6);
    CHECK(std::abs(a.norm - b.norm) <= 1e-6);
    CHECK(std::abs(any.evaluate(x, y) - five.evaluate(xs, ys)) <= 1e-6);
  }
  // at the bound: the same program, full
  trainer_of<open> full(nk::seed{1});
  const std::vector<float> xs(most * 3, 0.5f);
  const std::vector<int> ys(most, 2);
  CHECK(std::abs(full.step(1e-2, xs, ys).loss - all.step(1e-2, xs, ys).loss) <= 1e-6);
}

namespace {
template <bool Causal>
void check_reader() {
  using any_reader = reader<batch, seq, Causal>;
  using known_reader = reader<nk::dim<"batch", 3>, nk::dim<"seq", 4>, Causal>;
  trainer_of<any_reader> any(nk::seed{2});
  trainer_of<known_reader> known(nk::seed{2});
  nk::predictor<any_reader, &any_reader::logits> predict(any.value_pointers());
  nk::predictor<known_reader, &known_reader::logits> predict_known(known.value_pointers());
  for (int n = 0; n < 5; ++n) {
    const nk::tensor<nk::u16, batch, seq> x(nk::sized{3, 4}), y(nk::sized{3, 4});
    const nk::tensor<nk::u16, nk::dim<"batch", 3>, nk::dim<"seq", 4>> u, v;
    for (std::size_t i = 0; i < most * 6; ++i) x.data()[i] = y.data()[i] = 50000;  // no word
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        x(i, j) = u(i, j) = static_cast<std::uint16_t>((i * 5 + j * 3 + static_cast<std::size_t>(n)) % 9);
        y(i, j) = v(i, j) = static_cast<std::uint16_t>((i + j) % 9);
      }
    const nk::step_result a = any.step(1e-2, x, y), b = known.step(1e-2, u, v);
    CHECK(std::abs(a.loss - b.loss) <= 1e-6);
    CHECK(std::abs(a.norm - b.norm) <= 1e-6);
    const auto said = predict(x), wanted = predict_known(u);
    REQUIRE(said.size() == wanted.size());
    for (std::size_t i = 0; i < said.size(); ++i) CHECK(std::abs(said[i] - wanted[i]) <= 1e-5);
  }
}
}  // namespace

TEST_CASE("sequences and batches of any size, through attention", "[run time sizes]") {
  check_reader<true>();
  check_reader<false>();
}

// What is computed behind the end must be what is computed somewhere before it: losses that are singular
// where two positions are one, or a coordinate is its axis's size, and masks that leave a query no key.
namespace {
enum class loss {
  distances,
  differences,
  places,
  places_in_a_product,
  padded_left,
  strictly_causal,
  entropy,
  both_ways,
  attended
};

template <loss Of, nk::extent N>
struct singular {
  struct seq : nk::dim<"seq", N> {};
  struct width : nk::dim<"width", 2> {};
  BOOST_HANA_DEFINE_STRUCT(singular, (nk::param<width>, gain));
  static constexpr auto place(const auto& x) { return nk::cast<nk::f32>(nk::positions<seq>(x)); }

  constexpr auto loss(nk::input<nk::f32, seq, width> x, nk::input<nk::b8, seq> counts) const {
    const auto h = x * gain;
    const auto keys = nk::rename<"seq", "seq'">(h);
    if constexpr (Of == loss::padded_left) {
      const auto y = nk::causal_attention<"seq", "width">(h, h, h, nk::rename<"seq", "seq'">(counts));
      return nk::sum(y * y) * 100.0;
    } else if constexpr (Of == loss::entropy) {
      const auto weights = nk::softmax<"seq'">(nk::dot<"width">(h, keys));
      return nk::sum(weights * nk::log(weights));
    } else if constexpr (Of == loss::attended) {
      const auto seen = nk::sum<"seq">(nk::softmax<"seq'">(nk::dot<"width">(h, keys)));  // [seq']
      return nk::sum(nk::log(seen) * nk::sum<"width">(keys));
    } else if constexpr (Of == loss::both_ways) {
      const auto scores = nk::dot<"width">(h, keys);
      return nk::mean(nk::dot<"seq'">(nk::softmax<"seq'">(scores), keys)) +
             nk::mean(nk::dot<"seq">(nk::softmax<"seq">(scores), h));
    } else if constexpr (Of == loss::distances || Of == loss::differences || Of == loss::strictly_causal) {
      const auto products = nk::dot<"width">(h, keys);  // [seq, seq']
      const auto diagonal = nk::outer(place(x), 0 * nk::rename<"seq", "seq'">(place(x)) + 1) ==
                            nk::outer(0 * place(x) + 1, nk::rename<"seq", "seq'">(place(x)));
      if constexpr (Of == loss::distances) {
        const auto squares = nk::outer(nk::sum<"width">(h * h), 0 * nk::sum<"width">(keys) + 1) +
                             nk::outer(0 * nk::sum<"width">(h) + 1, nk::sum<"width">(keys * keys)) -
                             2 * products;
        return nk::sum(nk::where(diagonal, 0.0,
                                 nk::exp(-nk::sqrt(nk::where(diagonal, 1.0, nk::maximum(squares, 1e-9))))));
      } else if constexpr (Of == loss::differences) {
        const auto t = nk::sum<"width">(x), u = nk::rename<"seq", "seq'">(t);
        const auto apart = nk::outer(t, 0 * u + 1) - nk::outer(0 * t + 1, u);
        return nk::mean(nk::dot<"seq'">(nk::where(diagonal, 0.0, 1 / nk::where(diagonal, 1.0, apart)), keys));
      } else {
        const auto before = nk::outer(0 * place(x) + 1, nk::rename<"seq", "seq'">(place(x))) <
                            nk::outer(place(x), 0 * nk::rename<"seq", "seq'">(place(x)) + 1);
        const auto y = nk::dot<"seq'">(nk::softmax<"seq'">(nk::where(before, products, -1e9)), keys);
        return nk::sum(y * y);
      }
    } else {
      const auto left = 1 / (nk::sum(0 * place(x) + 1) - place(x));  // 1 / (n - position)
      if constexpr (Of == loss::places)
        return nk::sum(nk::sum<"width">(h * h) * left);
      else
        return nk::sum(nk::dot<"seq">(h, left));
    }
  }
};

template <loss Of>
void check_singular() {
  constexpr std::size_t n = 5;
  using open_model = singular<Of, nk::up_to<9>>;
  using known_model = singular<Of, n>;
  trainer_of<open_model> any(nk::seed{3});
  trainer_of<known_model> known(nk::seed{3});
  for (int k = 0; k < 3; ++k) {
    nk::tensor<nk::f32, typename open_model::seq, typename open_model::width> x(nk::sized{n});
    nk::tensor<nk::b8, typename open_model::seq> counts(nk::sized{n});
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < 2; ++j) x(i, j) = std::sin(static_cast<float>(3 * i + 2 * j + 1));
      counts(i) = i > 1;
    }
    const std::vector<float> xs(x.begin(), x.end());
    const std::vector<nk::b8> cs(counts.begin(), counts.end());
    const nk::step_result a = any.step(1e-2, x, counts), b = known.step(1e-2, xs, cs);
    INFO(a.loss << " " << b.loss << ", norms " << a.norm << " " << b.norm);
    CHECK(a.applied);
    CHECK(std::abs(a.loss - b.loss) <= 1e-5 * (1 + std::abs(b.loss)));
    CHECK(std::abs(a.norm - b.norm) <= 1e-5 * (1 + std::abs(b.norm)));
  }
}
}  // namespace

TEST_CASE("nothing is singular behind the end that is not before it", "[run time sizes]") {
  SECTION("distances of pairs, without the diagonal") { check_singular<loss::distances>(); }
  SECTION("reciprocals of differences") { check_singular<loss::differences>(); }
  SECTION("a weight by place") { check_singular<loss::places>(); }
  SECTION("the same in a product") { check_singular<loss::places_in_a_product>(); }
  SECTION("causal attention, of which a mask hides all that a query sees") {
    check_singular<loss::padded_left>();
  }
  SECTION("a query that sees none") { check_singular<loss::strictly_causal>(); }
  SECTION("the logarithm of a softmax's weights") { check_singular<loss::entropy>(); }
  SECTION("two softmaxes of the same scores") { check_singular<loss::both_ways>(); }
  SECTION("how much each position is attended to") { check_singular<loss::attended>(); }
}

// On a GPU attention along such an axis is one operation all the same, and what the sizes take is next to
// nothing.
namespace {
template <nk::extent Batch, nk::extent Seq>
struct config {
  struct batch : nk::dim<"batch", Batch> {};
  struct seq : nk::dim<"seq", Seq> {};
  struct vocab : nk::dim<"vocab", 64> {};
  struct embed : nk::dim<"embed", 64> {};
  struct ffn : nk::dim<"ffn", 128> {};
  struct kv_heads : nk::dim<"kv_heads", 1> {};
  struct group : nk::dim<"group", 1> {};
  struct hidden : nk::dim<"hidden", 64> {};
  static constexpr std::size_t layers = 2;
};
template <nk::extent Batch, nk::extent Seq>
using step_of =
    nk::train_step<nk::nn::llama<config<Batch, Seq>>, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>;
using any_step = step_of<nk::up_to<4>, nk::up_to<128>>;
using known_step = step_of<4, 128>;
static_assert(any_step::attention == known_step::attention && any_step::attention.fused == 2);
static_assert(any_step::cost.launches <= known_step::cost.launches + 1);
static_assert(any_step::cost.bytes.total() <= known_step::cost.bytes.total() + 64);
static_assert(any_step::cost.flops.matmul == known_step::cost.flops.matmul);
}  // namespace

TEST_CASE("what an input sized at run time does not take", "[run time sizes]") {
  trainer_of<open> t(nk::seed{1});
  const nk::tensor<nk::f32, batch, in> x(nk::sized{2});
  nk::tensor<nk::i32, batch> y(nk::sized{3}), z(nk::sized{2});
  const auto refused = [&](const auto&... data) {
    return message_of<nk::input_error>([&] { (void)t.step(1e-2, data...); });
  };
  CHECK(refused(x, y) == "axis 'batch' has 2 elements in one operand and 3 in another");
  z(1) = 4, z.data()[2] = 99;
  CHECK(refused(x, z).starts_with("trainer: input 1 of the loss has the label 4 at place 1"));
  z(1) = 3;
  CHECK(refused(std::vector<float>(7), z) ==
        "trainer: input 0 of the loss is f32[batch <=8, in 3]: at most 24 elements, by 3, 7 were given");
  CHECK(refused(std::vector<float>(27), z) ==
        "trainer: input 0 of the loss is f32[batch <=8, in 3]: at most 24 elements, by 3, 27 were given");
  CHECK(t.steps() == 0);
  CHECK(refused(x, z) == "nothing was thrown");
  trainer_of<reader<batch, seq, true>> r(nk::seed{1});
  CHECK(message_of<nk::input_error>(
            [&] { (void)r.evaluate(std::vector<std::uint16_t>(12), std::vector<std::uint16_t>(12)); }) ==
        "trainer: input 0 of the loss is u16[batch <=8, seq <=6]: values alone do not say how long its axes "
        "are, "
        "give it a tensor");
  const nk::step_result none = t.step(1e-2, std::vector<float>(), std::vector<int>());
  CHECK_FALSE(none.applied);  // a mean of nothing
}
