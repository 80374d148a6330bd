// Where intermediates lie in another order for the sake of their products: values stay, no more products are
// refused, no path of products takes more than it did, and most take the least that any orders do, by brute
// force over all of them.
#include "napkin/passes/order_results.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "napkin/cuda/plan.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/planned.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
using nk::on_cuda::target;
using nk::passes::layout_price;

namespace {

struct chain_options {
  nk::dtype type = nk::dtype::f32;
  std::size_t most = 9;      // of an axis
  bool has_kernels = true;   // between products, and at the end
  std::size_t operands = 3;  // of an einsum alone
};

/// Products one after the other, of tensors of two to four axes, with kernels between them, or one einsum of
/// several operands.
class chains {
 public:
  chains(std::uint64_t seed, chain_options options)
      : random_(static_cast<unsigned>(seed)), options_(options) {}

  nk::graph run() {
    b_.simplify = true;
    for (std::size_t l = 0; l < 6; ++l) size_.push_back(2 + below(options_.most - 1));
    if (!options_.has_kernels) {
      b_.output(several());
      return b_.take();
    }
    tensor x = input(2 + below(3));
    std::vector<tensor> made;
    for (std::size_t steps = 2 + below(3); steps > 0; --steps) {
      const tensor from = !made.empty() && below(4) == 0 ? made[below(made.size())] : x;
      x = kernel_after(product(from, input(2 + below(2))));
      made.push_back(x);
    }
    if (below(3) == 0) x = transposed(x);
    b_.output(x.id);
    return b_.take();
  }

 private:
  struct tensor {
    std::int32_t id;
    std::vector<std::int32_t> labels;
  };
  std::mt19937 random_;
  chain_options options_;
  nk::builder b_;
  std::vector<std::size_t> size_;  // by label
  std::int32_t slots_ = 0;

  std::size_t below(std::size_t n) { return random_() % n; }
  std::vector<std::int32_t> some_labels(std::size_t count) {
    std::vector<std::int32_t> all(size_.size());
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(count);
    return all;
  }
  nk::shape shape_of(const std::vector<std::int32_t>& labels) const {
    nk::shape s;
    for (const std::int32_t l : labels) s.push_back(size_[static_cast<std::size_t>(l)]);
    return s;
  }
  tensor input(std::size_t rank) {
    const std::vector<std::int32_t> labels = some_labels(rank);
    return {b_.input(slots_++, options_.type, shape_of(labels)), labels};
  }
  std::int32_t einsum(const std::vector<tensor>& xs, const std::vector<std::int32_t>& result) {
    std::vector<std::int32_t> ids, labels;
    for (const tensor& x : xs) {
      ids.push_back(x.id);
      labels.insert(labels.end(), x.labels.begin(), x.labels.end());
    }
    return b_.einsum(ids, labels, result);
  }
  /// Of labels that some of these have, in any order, at most four.
  std::vector<std::int32_t> result_of(const std::vector<tensor>& xs) {
    std::vector<std::int32_t> labels;
    for (const std::int32_t l : some_labels(size_.size()))
      for (const tensor& x : xs)
        if (std::count(x.labels.begin(), x.labels.end(), l) > 0 && labels.size() < 4 && below(3) > 0) {
          labels.push_back(l);
          break;
        }
    return labels;
  }
  tensor product(const tensor& x, const tensor& y) {
    const std::vector<std::int32_t> labels = result_of({x, y});
    return {einsum({x, y}, labels), labels};
  }
  std::int32_t several() {
    std::vector<tensor> xs;
    for (std::size_t k = 0; k < options_.operands; ++k) xs.push_back(input(2 + below(3)));
    return einsum(xs, result_of(xs));
  }
  tensor kernel_after(const tensor& x) {
    const std::size_t rank = x.labels.size();
    switch (below(4)) {
      case 0:
        return {b_.unary(nk::op::tanh, x.id), x.labels};
      case 1: {
        if (rank == 0) return x;
        std::vector<std::int32_t> along(rank, -1);
        along.back() = 0;
        const std::int32_t v =
            b_.input(slots_++, options_.type, {size_[static_cast<std::size_t>(x.labels.back())]});
        return {b_.add(x.id, b_.expand(v, shape_of(x.labels), along)), x.labels};
      }
      default:
        return x;
    }
  }
  tensor transposed(const tensor& x) {
    std::vector<std::int32_t> order(x.labels.size()), labels;
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::int32_t axis : order) labels.push_back(x.labels[static_cast<std::size_t>(axis)]);
    return {b_.permute(x.id, order), labels};
  }
};

using orders = std::vector<nk::passes::axis_order>;  // by node; empty: row-major

nk::passes::access lies(const nk::graph_view& g, const orders& by, int x) {
  if (nk::passes::is_view(g[x].kind)) return nk::passes::view_access(g, x, lies(g, by, g.operand(x, 0)));
  nk::passes::access a = nk::passes::access_of(g, x);
  if (const auto& order = by[static_cast<std::size_t>(x)]; !order.empty())
    a.stride = nk::passes::strides_in(order, g.shape_of(x));
  return a;
}
/// Of all products.
layout_price price_of(const nk::graph_view& g, const orders& by) {
  layout_price sum;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind != nk::op::einsum) continue;
    const nk::row::einsum_labels labels(g, id);
    const int a = g.operand(id, 0), b = g.operand(id, 1);
    sum += target::price(g[id].type, {labels.operand(0), g.shape_of(a), lies(g, by, a).stride},
                         {labels.operand(1), g.shape_of(b), lies(g, by, b).stride},
                         {labels.result(), g.shape_of(id), lies(g, by, id).stride});
  }
  return sum;
}
layout_price price_of(const nk::graph_view& g) { return price_of(g, orders(g.size())); }

/// The least bytes of all orders of these results, of those in which no more products are refused.
void search(const nk::graph_view& g, const std::vector<int>& results, std::size_t next, orders& by,
            std::uint64_t refused, std::uint64_t& least) {
  if (next == results.size()) {
    const layout_price price = price_of(g, by);
    if (price.refused <= refused) least = std::min(least, price.bytes);
    return;
  }
  const auto id = static_cast<std::size_t>(results[next]);
  std::vector<std::int32_t> order(g.shape_of(results[next]).size());
  std::iota(order.begin(), order.end(), 0);
  do {
    by[id].clear();
    for (const std::int32_t axis : order) by[id].push_back(axis);
    search(g, results, next + 1, by, refused, least);
  } while (std::next_permutation(order.begin(), order.end()));
  by[id].clear();
}

/// Of a graph whose results of products are read by products alone, or are the output as they lie: those that
/// are free to move.
std::optional<std::vector<int>> free_results(const nk::graph_view& g) {
  std::vector<int> found;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    const bool is_product = g[id].kind == nk::op::einsum;
    if (is_product && id != g.outputs[0] && g.shape_of(id).size() > 1) found.push_back(id);
    for (const std::int32_t x : g.operands(id))
      if (!is_product && !nk::passes::is_view(g[id].kind) &&
          g[nk::passes::detail::base_of(g, x)].kind == nk::op::einsum)
        return {};
  }
  if (found.empty() || g[g.outputs[0]].kind != nk::op::einsum) return {};
  return found;
}

std::size_t refused_products(const nk::graph_view& g) {
  const auto p = nk::testing::planned_unsettled<target>(g);
  std::size_t n = 0;
  for (const auto& c : p.contractions)
    n += !p.products[static_cast<std::size_t>(c.product)].refused().empty();
  return n;
}

/// Run by the CPU, which takes any strides, as the graph lies and row-major.
std::string difference(const nk::graph& lowered, const nk::graph& ordered, std::uint64_t seed) {
  const auto inputs =
      nk::testing::typed_inputs(lowered.view(), nk::testing::random_inputs(lowered.view(), seed));
  constexpr auto poison = std::byte{0xff};
  const auto expected = nk::testing::run_lowered(lowered.view(), {}, inputs, poison);
  const auto found = nk::testing::run_lowered(ordered.view(), {}, inputs, poison);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const nk::dtype type = lowered.view()[lowered.outputs[o]].type;
    const std::vector<double> x = nk::testing::to_doubles(expected[o], type),
                              y = nk::testing::to_doubles(found[o], type);
    if (x.size() != y.size()) return "another size";
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!(std::fabs(x[i] - y[i]) <= 1e-9 * (1 + std::fabs(x[i]))))
        return "output " + std::to_string(o) + " element " + std::to_string(i) + "\n" +
               nk::to_string(lowered.view()) + nk::to_string(ordered.view());
  }
  return {};
}

bool has_own_order(const nk::graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(),
                     [](const nk::node& n) { return nk::passes::has_own_order(n); });
}

}  // namespace

TEST_CASE("a path of products alone takes no more than row-major, and mostly the least of all orders") {
  for (const nk::dtype type : {nk::dtype::f32, nk::dtype::bf16}) {
    std::size_t paths = 0, best = 0, better = 0;
    std::uint64_t before = 0, after = 0;
    for (std::uint64_t seed = 0; seed < 6000; ++seed) {
      CAPTURE(seed, nk::name_of(type));
      const nk::graph g =
          chains(seed, {.type = type, .most = 160, .has_kernels = false, .operands = 3 + seed % 2}).run();
      const nk::graph lowered = nk::testing::lowered(g.view());
      const auto results = free_results(lowered.view());
      if (!results) continue;
      const nk::graph ordered = nk::testing::lowered<target>(g.view());
      const layout_price was = price_of(lowered.view()), is = price_of(ordered.view());
      REQUIRE(is.refused <= was.refused);
      REQUIRE(is.bytes <= was.bytes);
      std::uint64_t least = was.bytes;
      orders by(lowered.nodes.size());
      search(lowered.view(), *results, 0, by, was.refused, least);
      ++paths;
      best += is.bytes <= least;
      better += is.bytes < was.bytes;
      before += was.bytes, after += is.bytes;
    }
    INFO(paths << " paths, " << better << " better than row-major, " << best << " best of all orders");
    CHECK(paths > 300);
    CHECK(better * 7 > paths);
    CHECK(best * 100 >= paths * 97);
    CHECK(after < before);
  }
}

TEST_CASE("chains of products and kernels: values stay, and what was a GEMM is one") {
  std::size_t transposed = 0, ordered_kernels = 0, refused_before = 0, refused_after = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const nk::graph g = chains(seed, {.type = nk::dtype::f64}).run();
    REQUIRE(nk::passes::verify(g.view()).sentence == "");
    const nk::graph lowered = nk::testing::lowered(g.view());
    const nk::graph ordered = nk::testing::lowered<target>(g.view());
    REQUIRE(nk::passes::verify(ordered.view()).sentence == "");
    const std::size_t before = refused_products(lowered.view()), after = refused_products(ordered.view());
    REQUIRE(after <= before);
    refused_before += before, refused_after += after;
    ordered_kernels += has_own_order(ordered);
    transposed += nk::to_string(ordered.view()) != nk::to_string(lowered.view());
    REQUIRE(difference(lowered, ordered, seed) == "");
  }
  CHECK(transposed > 200);
  CHECK(ordered_kernels > 30);
  CHECK(refused_after < refused_before);
}

TEST_CASE("random graphs keep their values in the orders of their products") {
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const nk::graph g = nk::testing::random_graph(seed);
    const nk::graph lowered = nk::testing::lowered(g.view());
    const nk::graph ordered = nk::testing::lowered<target>(g.view());
    REQUIRE(nk::passes::verify(ordered.view()).sentence == "");
    REQUIRE(refused_products(ordered.view()) <= refused_products(lowered.view()));
    if (nk::to_string(ordered.view()) == nk::to_string(lowered.view())) continue;
    ++changed;
    REQUIRE(difference(lowered, ordered, seed) == "");
  }
  CHECK(changed > 25);
}
