// Products that are made one are what they were: losses to the bit, as each sum has the terms that it had, and
// gradients to rounding. And which are, and which stay apart.
#include "napkin/passes/merge_products.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/train/compute_in.hpp"
#include "support/compare.hpp"
#include "support/counted_nodes.hpp"
#include "support/random_graph.hpp"

namespace merge_products_test {

namespace nk = napkin;

struct config {
  using batch = nk::dim<"batch", 32>;
  using seq = nk::dim<"seq", 8>;
  using vocab = nk::dim<"vocab", 11>;
  using embed = nk::dim<"embed", 16>;
  using ffn = nk::dim<"ffn", 32>;
  using heads = nk::dim<"heads", 2>;
  using kv_heads = nk::dim<"kv_heads", 2>;
  using group = nk::dim<"group", 2>;
  using hidden = nk::dim<"hidden", 8>;
  static constexpr std::size_t layers = 2;
};

constexpr std::uint64_t launch = 0;  // as if there were so much more data

std::string fault_of(const nk::graph& g) { return std::string(nk::passes::verify(g.view()).sentence); }

/// A loss and its gradients to `parameters` inputs, computed in f64 whatever the graph's dtypes are.
std::vector<std::vector<double>> gradients_of(const nk::graph& loss, std::size_t parameters,
                                              const std::vector<std::vector<double>>& inputs) {
  std::vector<std::int32_t> wanted(parameters);
  std::iota(wanted.begin(), wanted.end(), 0);
  const nk::graph g = nk::passes::differentiate(loss.view(), wanted);
  REQUIRE(fault_of(g).empty());
  return nk::interpret(g.view(), inputs);
}

/// Of all gradients, behind the loss, the largest difference as a share of the largest magnitude: some are
/// nothing but rounding, as that of a key's bias. Infinite if one is NaN.
double share_apart(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  double most = 0, apart = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 1; k < a.size(); ++k) {
    REQUIRE(a[k].size() == b[k].size());
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      most = std::fmax(most, std::fabs(a[k][i]));
      apart = nk::testing::worst_of(apart, std::fabs(a[k][i] - b[k][i]));
    }
  }
  CHECK(most > 0);
  return apart / most;
}

/// Inputs as they are stored: each parameter's pieces where they lie in its tensor; data behind the tensors.
std::vector<std::vector<double>> store(const std::vector<std::vector<double>>& inputs,
                                       const nk::buffer<nk::passes::stored_parameter>& stored) {
  std::vector<std::vector<double>> tensors(nk::passes::count_tensors(stored));
  for (std::size_t p = 0; p < stored.size(); ++p) {
    std::vector<double>& to = tensors[static_cast<std::size_t>(stored[p].tensor)];
    to.resize(stored[p].rows * stored[p].stride, std::numeric_limits<double>::quiet_NaN());
    const std::size_t piece = inputs[p].size() / stored[p].rows;
    for (std::size_t i = 0; i < inputs[p].size(); ++i)
      to[i / piece * stored[p].stride + stored[p].start + i % piece] = inputs[p][i];
  }
  tensors.insert(tensors.end(), inputs.begin() + static_cast<std::ptrdiff_t>(stored.size()), inputs.end());
  return tensors;
}

/// How many tensors fewer than parameters there are where those of one product are stored as one: the loss is
/// the same then, and gradients are, stored so too. further: inputs behind the parameters that have
/// gradients.
std::size_t check_stored(const nk::graph& loss, const nk::passes::storing_rule& rule,
                         const std::vector<std::vector<double>>& inputs, double within,
                         std::size_t further = 0) {
  const auto parameters = static_cast<std::size_t>(rule.parameters);
  const auto stored = nk::passes::stored_parameters_of(loss.view(), rule, launch);
  const nk::graph merged = nk::passes::merge_products(loss.view(), rule, launch);
  REQUIRE(stored.size() == parameters);
  REQUIRE(fault_of(merged).empty());
  const std::size_t tensors = nk::passes::count_tensors(stored);
  for (std::size_t t = 0; t < tensors + further; ++t) {
    CHECK(merged.nodes[t].kind == nk::op::input);
    CHECK(merged.view().attribute(static_cast<int>(t), 0) == static_cast<int>(t));
  }
  auto expected = gradients_of(loss, parameters + further, inputs);
  const auto found = gradients_of(merged, tensors + further, store(inputs, stored));
  CHECK(found[0] == expected[0]);
  const auto loss_alone = expected[0];
  expected.erase(expected.begin());
  expected = store(expected, stored);
  expected.insert(expected.begin(), loss_alone);
  CHECK(share_apart(expected, found) <= within);
  return parameters - tensors;
}

/// How many products fewer a model's loss has.
template <class Model>
std::size_t check_model(bool in_bf16, double within) {
  const std::size_t parameters = nk::parameter_table<Model>.size();
  nk::graph loss = nk::model_graph<Model>::make();
  if (in_bf16) loss = nk::passes::compute_narrow(loss.view(), nk::dtype::bf16);
  const nk::graph merged = nk::passes::merge_products(loss.view(), {}, launch);
  REQUIRE(fault_of(merged).empty());
  for (std::size_t i = 0; i < parameters; ++i) CHECK(merged.nodes[i].kind == nk::op::input);

  auto inputs = nk::testing::random_inputs(loss.view(), 3);
  for (int id = 0; id < static_cast<int>(loss.nodes.size()); ++id) {
    const nk::node& n = loss.nodes[static_cast<std::size_t>(id)];
    if (n.kind == nk::op::input && nk::is_integer(n.type))
      for (double& token : inputs[static_cast<std::size_t>(loss.view().attribute(id, 0))])
        token = static_cast<double>(static_cast<int>(std::fabs(token)) % 11);
  }
  const auto expected = gradients_of(loss, parameters, inputs),
             found = gradients_of(merged, parameters, inputs);
  CHECK(std::isfinite(expected[0][0]));
  CHECK(found[0] == expected[0]);
  CHECK(share_apart(expected, found) <= within);
  const std::size_t fewer = nk::testing::products_in(loss.view()) - nk::testing::products_in(merged.view());
  const auto is_bias = [](const nk::parameter_info& p) { return p.name.ends_with("bias"); };
  const bool has_biases =
      std::any_of(nk::parameter_table<Model>.begin(), nk::parameter_table<Model>.end(), is_bias);
  CHECK(check_stored(loss, {static_cast<std::int32_t>(parameters), {}}, inputs, within) ==
        fewer * (has_biases ? 2 : 1));
  return fewer;
}

/// Products of x, (rows, 16), with parameters of 16 rows or columns, and what comes of them.
class few_products {
 public:
  nk::builder b;
  explicit few_products(std::initializer_list<nk::shape> parameters, std::size_t rows = 200) {
    for (const nk::shape& s : parameters) parameters_.push_back(b.input(b.size(), nk::dtype::f64, s));
    listed_ = parameters_.size();
    x_ = b.input(b.size(), nk::dtype::f64, {rows, 16});
  }
  /// Another, of another dtype, as one of x's.
  std::size_t cast_of(nk::dtype type, const nk::shape& s) {
    parameters_.push_back(b.cast(b.input(b.size(), type, s), nk::dtype::f64));
    return parameters_.size() - 1;
  }
  int multiply(std::size_t parameter, bool x_first = true) {
    const std::int32_t w = parameters_[parameter];
    const bool summed_first = b.shape_of(w)[0] == 16;
    const std::int32_t along = summed_first ? 1 : 2, columns = summed_first ? 2 : 1;
    const std::int32_t xw[] = {x_, w}, wx[] = {w, x_}, of_xw[] = {0, 1, along, columns},
                       of_wx[] = {along, columns, 0, 1}, result[] = {0, 2};
    return x_first ? b.einsum(xw, of_xw, result) : b.einsum(wx, of_wx, result);
  }
  /// y, (rows, columns), times a parameter of that many rows.
  int multiply_by(int y, std::size_t parameter) {
    const std::int32_t yw[] = {y, parameters_[parameter]}, of_yw[] = {0, 1, 1, 2}, result[] = {0, 2};
    return b.einsum(yw, of_yw, result);
  }
  /// y + parameter, one of y's columns, or of its rows.
  int add(int y, std::size_t parameter, bool of_columns = true) {
    const std::int32_t axes[] = {of_columns ? -1 : 0, of_columns ? 0 : -1};
    return b.add(y, b.expand(parameters_[parameter], nk::shape(b.shape_of(y)), axes));
  }
  /// Bent, so that the backward pass needs y.
  void use(int y) { use_as_it_is(b.unary(nk::op::sin, y)); }
  void use_as_it_is(int y) {
    const std::int32_t both[] = {0, 1};
    const int s = b.reduce(nk::op::sum, y, both);
    sum_ = sum_ < 0 ? s : b.add(sum_, s);
  }
  /// How many products fewer the loss has, merged; checks it and its gradients.
  std::size_t fewer() {
    const nk::graph loss = take(), merged = nk::passes::merge_products(loss.view(), {}, launch);
    REQUIRE(fault_of(merged).empty());
    const auto inputs = nk::testing::random_inputs(loss.view(), 5);
    const auto expected = gradients_of(loss, parameters_.size() + 1, inputs),
               found = gradients_of(merged, parameters_.size() + 1, inputs);
    CHECK(expected[0] == found[0]);
    CHECK(share_apart(expected, found) <= 1e-13);
    return nk::testing::products_in(loss.view()) - nk::testing::products_in(merged.view());
  }
  /// How many tensors fewer than parameters, those of equal layers apart; checks the loss and its gradients.
  std::size_t fewer_tensors(nk::passes::repetition layers = {}) {
    const nk::graph loss = take();
    return check_stored(loss, {static_cast<std::int32_t>(listed_), layers},
                        nk::testing::random_inputs(loss.view(), 5), 1e-13, 1);
  }

 private:
  std::vector<std::int32_t> parameters_;
  std::size_t listed_ = 0;
  int x_ = -1, sum_ = -1;

  nk::graph take() {
    b.output(sum_);
    return b.take();
  }
};

}  // namespace merge_products_test

using namespace merge_products_test;

TEST_CASE("merged products: losses are the same bits, gradients the same but for rounding") {
  CHECK(check_model<nk::nn::gpt<config>>(false, 1e-13) == 2 * 2);  // queries, keys and values
  CHECK(check_model<nk::nn::llama<config>>(false, 1e-13) ==
        2 * 2);  // queries and keys, a gate and its values
  CHECK(check_model<nk::nn::gpt<config>>(true, 1e-13) == 2 * 2);
  CHECK(check_model<nk::nn::llama<config>>(true, 1e-13) == 2 * 2);
}

TEST_CASE("merged products: parameters lie either way, and differ in columns") {
  SECTION("the summed axis first") {
    few_products p({{16, 32}, {16, 48}, {16, 16}});
    p.use(p.multiply(0)), p.use(p.multiply(1)), p.use(p.multiply(2));
    CHECK(p.fewer() == 2);
  }
  SECTION("the summed axis last") {
    few_products p({{32, 16}, {48, 16}});
    p.use(p.multiply(0)), p.use(p.multiply(1));
    CHECK(p.fewer() == 1);
  }
  SECTION("as the first operand") {
    few_products p({{16, 32}, {16, 32}});
    p.use(p.multiply(0, false)), p.use(p.multiply(1, false));
    CHECK(p.fewer() == 1);
  }
  SECTION("what two of them give is read by one operation") {
    few_products p({{16, 32}, {16, 32}});
    p.use(p.b.mul(p.multiply(0), p.multiply(1)));
    CHECK(p.fewer() == 1);
  }
}

TEST_CASE("merged products: vectors that are added to each are added to all") {
  few_products p({{16, 32}, {16, 48}, {32}, {48}, {200}});
  SECTION("along the columns") {
    p.use(p.add(p.multiply(0), 2)), p.use(p.add(p.multiply(1), 3));
    CHECK(p.fewer() == 1);
  }
  SECTION("to one of them: then the parts are added to") {
    p.use(p.add(p.multiply(0), 2)), p.use(p.multiply(1));
    CHECK(p.fewer() == 1);
  }
  SECTION("along the rows: then the parts are added to") {
    p.use(p.add(p.multiply(0), 4, false)), p.use(p.add(p.multiply(1), 4, false));
    CHECK(p.fewer() == 1);
  }
  SECTION("to what is read elsewhere: then the parts are added to") {
    const int a = p.multiply(0), b = p.multiply(1);
    p.use(p.add(a, 2)), p.use(p.add(b, 3)), p.use(a);
    CHECK(p.fewer() == 1);
  }
}

TEST_CASE("merged products: some stay apart") {
  SECTION("where joining parameters moves more than is saved") {  // 32 rows of f64, 64 columns of f32
    few_products p({{16, 32}, {16, 32}}, 32);
    p.use(p.multiply(0)), p.use(p.multiply(1));
    CHECK(p.fewer() == 0);
  }
  SECTION("of one parameter") {
    few_products p({{16, 32}});
    p.use(p.multiply(0)), p.use(p.multiply(0));
    CHECK(p.fewer() == 0);
  }
  SECTION("whose parameters lie one way and the other") {
    few_products p({{16, 32}, {32, 16}});
    p.use(p.multiply(0)), p.use(p.multiply(1));
    CHECK(p.fewer() == 0);
  }
  SECTION("of parameters of two dtypes") {
    few_products p({{16, 32}});
    const std::size_t other = p.cast_of(nk::dtype::f32, {16, 32});
    p.use(p.multiply(0)), p.use(p.multiply(other));
    CHECK(p.fewer() == 0);
  }
  SECTION("whose parts would not begin at multiples of 16 bytes") {
    few_products p({{16, 24}, {16, 32}});
    p.use(p.multiply(0)), p.use(p.multiply(1));
    CHECK(p.fewer() == 0);
  }
  SECTION("where the backward pass reads one result and not the other") {
    few_products p({{16, 32}, {16, 32}});
    p.use(p.multiply(0)), p.use_as_it_is(p.multiply(1));
    CHECK(p.fewer() == 0);
  }
}

TEST_CASE("merged products: what a product's call goes on to stays with it") {
  const auto gelu = [](few_products& p, int y) {
    p.b.composite = static_cast<std::uint16_t>(nk::composite::gelu);
    const int half = p.b.scale(y, 0.5);
    const int made =
        p.b.mul(half, p.b.add(p.b.unary(nk::op::tanh, y), p.b.constant(1, nk::dtype::f64, p.b.shape_of(y))));
    p.b.composite = 0;
    return made;
  };
  SECTION("a GELU that a product reads") {  // as of a layer whose parts lie side by side
    few_products p({{16, 32}, {16, 32}, {16, 32}, {32}, {32, 16}});
    p.use(p.multiply(0)), p.use(p.multiply(1));
    p.use(p.multiply_by(gelu(p, p.add(p.multiply(2), 3)), 4));
    CHECK(p.fewer() == 1);
  }
  SECTION("not one that a gate is: a kernel reads it") {
    few_products p({{16, 32}, {16, 32}});
    const int gate = p.multiply(0), y = p.multiply(1);
    p.use(p.b.mul(gelu(p, gate), y));
    CHECK(p.fewer() == 1);
  }
}

TEST_CASE("merged products: parameters that nothing else reads are stored as one") {
  SECTION("by rows, where the summed axis is first") {
    few_products p({{16, 32}, {16, 48}, {16, 16}});
    p.use(p.multiply(0)), p.use(p.multiply(1)), p.use(p.multiply(2));
    CHECK(p.fewer_tensors() == 2);
  }
  SECTION("behind one another, where it is last") {
    few_products p({{32, 16}, {48, 16}});
    p.use(p.multiply(0)), p.use(p.multiply(1));
    CHECK(p.fewer_tensors() == 1);
  }
  SECTION("in the order of their products, at the place of the first") {
    few_products p({{16, 16}, {16, 32}, {16, 48}, {16, 16}});
    p.use(p.multiply(3)), p.use(p.multiply(1));
    CHECK(p.fewer_tensors() == 1);
  }
  SECTION("whose vectors are") {
    few_products p({{16, 32}, {32}, {16, 48}, {48}, {200}});
    p.use(p.add(p.multiply(0), 1)), p.use(p.add(p.multiply(2), 3));
    CHECK(p.fewer_tensors() == 2);
  }
  SECTION("of few rows too: nothing is moved") {
    few_products p({{16, 32}, {16, 32}}, 32);
    p.use(p.multiply(0)), p.use(p.multiply(1));
    CHECK(p.fewer_tensors() == 1);
  }
}

TEST_CASE("merged products: some parameters are stored apart") {
  SECTION("where another operation reads one") {
    few_products p({{16, 32}, {16, 48}});
    p.use(p.multiply(0)), p.use(p.multiply(1));
    p.use(p.b.scale(0, 2));
    CHECK(p.fewer_tensors() == 0);
  }
  SECTION("where another reads one's vector: products are of one") {
    few_products p({{16, 32}, {32}, {16, 48}, {48}});
    p.use(p.add(p.multiply(0), 1)), p.use(p.add(p.multiply(2), 3));
    p.use(p.b.reshape(1, {4, 8}));
    CHECK(p.fewer_tensors() == 1);
  }
  SECTION("of two equal layers") {
    few_products p({{16, 16}, {16, 32}, {16, 32}, {16, 48}});
    p.use(p.multiply(0)), p.use(p.multiply(3)), p.use(p.multiply(1)), p.use(p.multiply(2));
    nk::passes::repetition layers;
    layers.count = 2, layers.first_parameter = 1, layers.parameters = 1;
    CHECK(p.fewer_tensors(layers) == 0);  // the first four products are one group
  }
  SECTION("of no layer, beside a layer's") {
    few_products p({{16, 16}, {16, 32}, {16, 32}});
    p.use(p.multiply(1)), p.use(p.multiply(2));
    nk::passes::repetition layers;
    layers.count = 1, layers.first_parameter = 1, layers.parameters = 2;
    CHECK(p.fewer_tensors(layers) == 1);
  }
}
