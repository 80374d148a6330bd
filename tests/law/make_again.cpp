// What is made again where it is read, and not stored, is what would have been: losses and gradients are
// the same bits, in every dtype, whatever arithmetic costs; and copies stay copies.
#include "napkin/passes/make_again.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "napkin/cpu/cost.hpp"
#include "napkin/nn/dropout.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/train/compute_in.hpp"
#include "support/counted_nodes.hpp"
#include "support/planned.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace make_again_test {

namespace nk = napkin;
using nk::testing::raw_bytes;

struct config {
  using batch = nk::dim<"batch", 3>;
  using seq = nk::dim<"seq", 6>;
  using vocab = nk::dim<"vocab", 11>;
  using embed = nk::dim<"embed", 8>;
  using ffn = nk::dim<"ffn", 12>;
  using heads = nk::dim<"heads", 2>;
  using kv_heads = nk::dim<"kv_heads", 1>;
  using group = nk::dim<"group", 2>;
  using hidden = nk::dim<"hidden", 4>;
  static constexpr std::size_t layers = 2;
};

struct rows : nk::dim<"rows", 9> {};
struct feature : nk::dim<"feature", 7> {};
struct unit : nk::dim<"unit", 5> {};

/// Noise, which a copy must draw as its original did, and a value that two kernels of the backward pass
/// read.
struct noisy {
  BOOST_HANA_DEFINE_STRUCT(noisy, (nk::param<feature, unit>, first), (nk::param<unit, feature>, second),
                           (nk::param<feature, unit>, third));
  constexpr auto loss(nk::input<nk::f32, rows, feature> x, nk::input<nk::i64> noise) const {
    const auto a = nk::dropout(nk::gelu(nk::dot<"feature">(x, first)), 0.4, noise);
    const auto b = nk::dropout(nk::tanh(nk::dot<"unit">(a, second)), 0.4, noise);
    const auto c = nk::exp(nk::dot<"feature">(b, third)) * nk::gelu(nk::dot<"feature">(b, third) + a);
    return nk::mean(c * c);
  }
};

/// A model's loss in T and its gradients, lowered.
template <class Model, class T>
nk::graph lowered_step() {
  const std::size_t parameters = nk::parameter_table<Model>.size();
  std::vector<std::int32_t> wanted(parameters);
  std::iota(wanted.begin(), wanted.end(), 0);
  const nk::graph traced = nk::model_graph<Model>::make();
  nk::graph loss = nk::passes::same_graph(traced.view());
  if constexpr (!std::is_same_v<T, nk::f32>) {
    constexpr nk::dtype narrow = nk::dtype_of<nk::detail::wider_than<T>>;
    loss = nk::passes::compute_narrow(traced.view(), narrow);
    if constexpr (nk::detail::is_quantized<T>) loss = nk::passes::mark_quantized(std::move(loss), parameters);
  }
  return nk::testing::lowered(nk::detail::gradients_in<T>(loss.view(), wanted).view(), {}, true);
}

/// The number of prices at which something is made again.
template <class Model, class T>
std::size_t check_model() {
  const nk::graph lowered = lowered_step<Model, T>();
  const nk::graph_view g = lowered.view();
  auto values = nk::testing::random_inputs(g, 7);
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == nk::op::input && nk::is_integer(g[id].type))
      for (double& token : values[static_cast<std::size_t>(g.attribute(id, 0))])
        token = static_cast<double>(static_cast<int>(token < 0 ? -token : token) % 11);
  const auto inputs = nk::testing::typed_inputs(g, values);
  const auto poison = std::byte{0xff};
  const std::vector<raw_bytes> expected = nk::testing::run_lowered(g, {}, inputs, poison);
  CHECK(std::isfinite(nk::testing::to_doubles(expected[0], g[g.outputs[0]].type)[0]));
  const nk::passes::fusion f = nk::passes::fuse(g);

  std::size_t with_copies = 0;
  for (const double flops_a_byte : {0.01, 1.0, 10.0, 1e9})
    for (const std::size_t most : {std::size_t{3}, std::size_t{24}}) {
      CAPTURE(flops_a_byte, most);
      const nk::graph made =
          nk::passes::make_again(g, f, {.max_made_again = most}, {.flops_a_byte = flops_a_byte});
      REQUIRE(std::string(nk::passes::verify(made.view()).sentence) == "");
      const std::size_t copies = nk::testing::copies_in(made.view());
      with_copies += copies > 0;
      CHECK(nk::testing::copies_in(nk::passes::simplify(made.view()).view()) == copies);
      const std::vector<raw_bytes> found = nk::testing::run_lowered(made.view(), {}, inputs, poison);
      REQUIRE(found.size() == expected.size());
      std::size_t different = 0;
      for (std::size_t k = 0; k < found.size(); ++k)
        different += nk::testing::first_difference(expected[k], found[k], g[g.outputs[k]].type) >= 0;
      CHECK(different == 0);
    }
  return with_copies;
}

}  // namespace make_again_test

using namespace make_again_test;

TEST_CASE("made again: losses and gradients are the same bits") {
  CHECK(check_model<noisy, nk::f32>() > 0);
  CHECK(check_model<noisy, nk::bf16>() > 0);
  CHECK(check_model<nk::nn::gpt<config>, nk::f32>() > 0);
  CHECK(check_model<nk::nn::gpt<config>, nk::bf16>() > 0);
  CHECK(check_model<nk::nn::gpt<config>, nk::f8>() > 0);
  CHECK(check_model<nk::nn::llama<config>, nk::f16>() > 0);
  CHECK(check_model<nk::nn::llama<config>, nk::f8>() > 0);
}
