// Two whole models, their loss and every gradient at the first step, against PyTorch's in f64 (tests/parity).
#include <algorithm>
#include <catch2/catch.hpp>

#include "napkin/nn/transformer.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/simplify.hpp"
#include "napkin/passes/verify.hpp"
#include "support/parity_file.hpp"
#include "support/parity_models.hpp"

namespace nk = napkin;
using nk::testing::relative_difference;
using values = std::vector<double>;

namespace {

template <class Model>
void against_torch(const std::string& name) {
  const nk::testing::parity_file file(name);
  constexpr std::size_t parameters = nk::parameter_table<Model>.size();
  const nk::graph loss = nk::model_graph<Model>::make();
  REQUIRE(nk::passes::verify(loss.view()).sentence == "");

  std::vector<values> in;
  std::vector<std::int32_t> wanted;
  std::size_t elements = 0;
  for (const nk::parameter_info& p : nk::parameter_table<Model>) {
    const std::string key = "initial." + std::string(p.name);
    INFO(key);
    REQUIRE(file.has(key));
    const std::vector<std::uint64_t> sizes(p.sizes.begin(), p.sizes.end());
    REQUIRE(file.shape_of(key) == sizes);
    wanted.push_back(static_cast<std::int32_t>(in.size()));
    in.push_back(file[key]);
    REQUIRE(in.back().size() == p.count);
    elements += p.count;
  }
  CHECK(elements == nk::count_parameters<Model>);
  const std::size_t tokens = 4 * 16;
  for (const char* key : {"batch.tokens", "batch.targets"}) {
    const values all = file[key];
    in.push_back(values(all.begin(), all.begin() + tokens));
  }

  const nk::graph gradients = nk::passes::simplify(nk::passes::differentiate(loss.view(), wanted).view());
  REQUIRE(nk::passes::verify(gradients.view()).sentence == "");
  const std::vector<values> out = nk::interpret(gradients.view(), in);
  REQUIRE(out.size() == parameters + 1);
  REQUIRE(out[0].size() == 1);
  const double first = file["f64.losses"][0];
  INFO("loss " << out[0][0] << ", PyTorch's " << first);
  CHECK(std::abs(out[0][0] - first) <= 1e-13 * first);

  double largest = 0;
  values found, expected;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::string path(nk::parameter_table<Model>[i].name);
    const values theirs = file["f64.gradient." + path];
    found.insert(found.end(), out[i + 1].begin(), out[i + 1].end());
    expected.insert(expected.end(), theirs.begin(), theirs.end());
    INFO(path);
    if (path.ends_with("key_bias")) {  // zero but for rounding: no score depends on it
      for (const double v : out[i + 1]) CHECK(std::abs(v) <= 1e-15);
      continue;
    }
    const double difference = relative_difference(out[i + 1], theirs);
    CHECK(difference <= 1e-13);
    largest = std::max(largest, difference);
  }
  CHECK(relative_difference(found, expected) <= 1e-13);
  WARN(name << ": largest relative difference of a gradient " << largest << ", at most 1e-13");
}

}  // namespace

TEST_CASE("nn: gpt's loss and gradients are PyTorch's") { against_torch<nk::testing::parity_gpt>("gpt"); }
TEST_CASE("nn: llama's loss and gradients are PyTorch's") {
  against_torch<nk::testing::parity_llama>("llama");
}

TEST_CASE("nn: what parameters begin as") {
  using model = nk::testing::parity_gpt;
  const auto filled = [](std::string_view name, std::uint64_t seed) {
    for (const nk::parameter_info& p : nk::parameter_table<model>)
      if (p.name == name) {
        std::vector<float> v(p.count, std::numeric_limits<float>::quiet_NaN());
        nk::initialise(p, seed, v.data());
        return v;
      }
    throw nk::error("no parameter " + std::string(name));
  };
  CHECK(filled("blocks.1.mlp_norm.gain", 7) == std::vector<float>(24, 1.0f));
  CHECK(filled("blocks.1.attention.key_bias", 7) == std::vector<float>(24, 0.0f));
  const std::vector<float> up = filled("blocks.0.mlp.up", 7), down = filled("blocks.0.mlp.down", 7);
  CHECK(filled("blocks.0.mlp.up", 7) == up);
  CHECK(filled("blocks.0.mlp.up", 8) != up);
  CHECK(filled("blocks.1.mlp.up", 7) != up);
  const auto deviation = [](const std::vector<float>& v) {
    double squares = 0;
    for (const float x : v) squares += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(squares / static_cast<double>(v.size()));
  };
  // 2,304 elements: the deviation's own is 1.5%.
  CHECK(std::abs(deviation(up) / 0.02 - 1) <= 0.06);
  CHECK(std::abs(deviation(down) / 0.01 - 1) <= 0.06);  // 0.02 / sqrt(2 * 2 layers)
}
