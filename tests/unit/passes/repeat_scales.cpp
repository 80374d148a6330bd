// Whose layer's the tensors of a graph in 8-bit floats are, of graphs that only number them.
#include "napkin/passes/repeat_scales.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/graph/builder.hpp"

namespace nk = napkin;

namespace {

constexpr std::int32_t parameters = 8, each = 2, first = 1;  // parameters 1 to 6 are those of three layers

/// Scales and largest magnitudes of tensors, by the parameter that each one's first product multiplies; of
/// those a tensor has so many rows.
nk::graph numbers(const std::vector<std::int32_t>& origins, std::size_t rows_of_last = 1) {
  nk::builder b;
  for (std::int32_t i = 0; i < 1 + parameters; ++i) b.output(b.input(0, nk::dtype::f32, {}));
  for (std::size_t i = 0; i < origins.size(); ++i) {
    b.origin = origins[i];
    b.input(parameters + static_cast<int>(i), nk::dtype::f32, {});
    b.output(b.input(0, nk::dtype::f32, {i + 1 < origins.size() ? 1 : rows_of_last}));
  }
  return b.take();
}
nk::passes::left_out cut_of(const nk::graph& g, std::int32_t copies = 4) {
  const nk::passes::left_out cut =
      with_gradients(nk::passes::cut_of({0, 50, 3 + copies, first, each}, copies));
  return nk::passes::with_scales(cut, g.view(), parameters, parameters);
}
/// Those behind the first, which is the parameters'.
std::vector<std::int32_t> firsts(const auto& layered) {
  std::vector<std::int32_t> all;
  for (std::size_t i = 1; i < layered.size(); ++i) all.push_back(layered[i].first);
  return all;
}

}  // namespace

TEST_CASE("repeat_scales: values and adjoints, with some before the layers and behind them") {
  // values of no layer, three layers, one behind; then adjoints
  const nk::graph g = numbers({0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 0, 2, 4, 6, 7});
  const nk::passes::left_out cut = cut_of(g);
  REQUIRE(cut.copies == 4);
  CHECK(firsts(cut.inputs) == std::vector<std::int32_t>{8 + 2, 8 + 13, 8 + 17 + 2, 8 + 17 + 13});
  CHECK(firsts(cut.outputs) == std::vector<std::int32_t>{9 + 2, 9 + 13});
  CHECK((cut.inputs[1].each == 3 && cut.inputs[2].each == 1));
  const auto rows = nk::passes::elements_in_whole(g.view(), cut, 9);
  CHECK(rows.size() == 17 + 4 * (3 + 1));
}

TEST_CASE("repeat_scales: what layer 0 has more lies before, what the last layer has more behind") {
  const nk::passes::left_out cut = cut_of(numbers({1, 2, 1, 2, 3, 4, 5, 6, 6}));
  REQUIRE(cut.copies == 4);
  CHECK(firsts(cut.outputs) == std::vector<std::int32_t>{9 + 2});
  CHECK(cut.outputs[1].each == 2);
}

TEST_CASE("repeat_scales: a graph whose layers differ is not to be shortened") {
  CHECK(cut_of(numbers({1, 2, 3, 4, 5, 6})).copies == 4);
  CHECK(cut_of(numbers({1, 2, 4, 3, 5, 6})).copies == 0);           // another order
  CHECK(cut_of(numbers({1, 2, 3, 4, 5})).copies == 0);              // the last has fewer
  CHECK(cut_of(numbers({3, 4, 5, 6, 1, 2})).copies == 0);           // not one behind the other
  CHECK(cut_of(numbers({1, 3, 5, 1, 3, 5, 1, 3, 5})).copies == 0);  // three runs
  CHECK(cut_of(numbers({1, 2, 3, 4, 5, 6}, 2)).copies == 0);        // rows
}

TEST_CASE("repeat_scales: the whole has the rows of each layer") {
  const nk::graph g = numbers({0, 1, 3, 5, 7}, 9);
  const nk::passes::left_out cut = cut_of(g, 2);
  const auto rows = nk::passes::elements_in_whole(g.view(), cut, 9);
  REQUIRE(rows.size() == 7);
  CHECK(rows[5] == 1);
  CHECK(rows[6] == 9);
  CHECK(nk::passes::elements_in_whole(g.view(), {}, 9).size() == 5);
}
