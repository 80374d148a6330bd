#include "support/device_run.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "napkin/passes/interpret.hpp"
#include "support/planned.hpp"
#include "support/tolerance.hpp"

namespace napkin::testing {

namespace {

/// A value of 16 or 8 bits that something is computed of.
bool is_rounded_between(const graph_view& g, int id) {
  for (const std::int32_t out : g.output_ids())
    if (out == id) return false;
  return is_small_float(g[id].type) && g[id].kind != op::input &&
         category_of(g[id].kind) != category::movement;
}
/// A coordinate past 256 is another number in bf16, and its cosine anywhere.
bool rounds_coordinates(const graph_view& g) {
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::iota && is_small_float(g[id].type)) return true;
  return false;
}

}  // namespace

device_case::device_case(const graph_view& made) : lowered_(lowered(made)) {
  const graph_view g = lowered_.view();
  std::vector<std::vector<double>> held;  // what inputs are once they are rounded
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (is_rounded_between(g, id)) between_ = g[id].type;
    contractions_ += g[id].kind == op::einsum;
    if (g[id].kind != op::input) continue;
    const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
    if (slot >= inputs.size()) inputs.resize(slot + 1), held.resize(slot + 1);
    std::vector<double> values(numel(g.shape_of(id)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = is_integer(g[id].type)
                      ? static_cast<double>((i * 7 + slot) % 5)
                      : std::sin(0.37 * static_cast<double>(i + 1) + static_cast<double>(slot));
    inputs[slot] = to_bytes(values, g[id].type);
    held[slot] = to_doubles(inputs[slot], g[id].type);
  }
  exact_ = interpret(g, held, rounds_coordinates(g) ? rounding::as_typed : rounding::none);
  expected = run_lowered(g, {}, inputs, std::byte{0x7f});
}

std::vector<raw_bytes> device_case::outputs() const {
  const graph_view g = lowered_.view();
  std::vector<raw_bytes> out;
  for (const std::int32_t id : g.output_ids())
    out.emplace_back(numel(g.shape_of(id)) * size_of(g[id].type), std::byte{0x7f});
  return out;
}

void device_case::check(const std::vector<raw_bytes>& given, double tolerance) const {
  const graph_view g = lowered_.view();
  REQUIRE(given.size() == expected.size());
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const dtype type = g[g.outputs[o]].type;
    const std::vector<double> x = to_doubles(expected[o], type), y = to_doubles(given[o], type);
    REQUIRE(x.size() == y.size());
    double scale = 0, worst = 0;
    bool numbers = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      scale = std::max(scale, std::fabs(x[i]));
      worst = std::max(worst, std::fabs(x[i] - y[i]));
      numbers = numbers && std::isfinite(x[i]) && std::isfinite(y[i]);
    }
    INFO("output " << o << " of " << expected.size() << ", largest " << scale << ", off by " << worst);
    CHECK(numbers);
    CHECK(worst <= tolerance * std::fmax(scale, 1e-4));  // a key's bias has no gradient but rounding
    CHECK(far_from_exact(y, o, tolerance) == "");
  }
}

std::string device_case::far_from_exact(const std::vector<double>& given, std::size_t output,
                                        double of_largest) const {
  const graph_view g = lowered_.view();
  const dtype type = g[g.outputs[output]].type;
  const std::vector<double> exact = rounded_to(type, exact_[output]);
  const bool narrows = is_floating(type) && is_small_float(between_);
  const tolerance by = tolerance_of(narrows ? between_ : type);
  const double absolute = by.absolute * std::sqrt(contractions_ > 1 ? contractions_ : 1);
  double largest = 0;
  for (const double x : exact) largest = std::max(largest, std::fabs(x));
  const double relative = narrows ? std::fmax(by.relative, of_largest) : by.relative;
  return first_far(given, exact, [&](std::size_t i) {
    return absolute + relative * (narrows || contractions_ > 0 ? largest : std::fabs(exact[i]));
  });
}

}  // namespace napkin::testing
