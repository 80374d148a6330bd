// The contraction pass keeps values, leaves the normal form it promises, and finds the cheapest order: by
// brute force over all orders, and on the corpus's counts.
#include "napkin/passes/contract.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::passes::objective;

namespace {

using labels = std::vector<std::int32_t>;

nk::graph einsum_graph(const std::vector<labels>& operands, const labels& result,
                       const std::vector<std::size_t>& size, nk::dtype type = nk::dtype::f64) {
  nk::builder b;
  std::vector<std::int32_t> xs;
  labels all;
  for (const labels& operand : operands) {
    nk::shape s;
    for (std::int32_t l : operand) {
      s.push_back(size[static_cast<std::size_t>(l)]);
      all.push_back(l);
    }
    xs.push_back(b.input(static_cast<int>(xs.size()), type, s));
  }
  b.output(b.einsum({xs.data(), xs.size()}, {all.data(), all.size()}, {result.data(), result.size()}));
  return b.result;
}

/// What is not as promised of the einsums in a graph; empty where all is well.
std::string not_normal(const nk::graph_view& g) {
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind != nk::op::einsum) continue;
    const nk::row::einsum_labels l(g, id);
    if (l.arity() != 2) return "an einsum is not pairwise";
    std::map<std::int32_t, int> stands_in;
    bool sums = false;
    for (const nk::ids part : {l.operand(0), l.operand(1), l.result()}) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (std::count(part.begin(), part.end(), part[i]) != 1) return "a label repeats";
        ++stands_in[part[i]];
      }
    }
    for (const auto& [label, count] : stands_in) {
      if (count < 2) return "a label stands in one place only";
      const nk::ids to = l.result();
      sums = sums || std::count(to.begin(), to.end(), label) == 0;
    }
    if (!sums) return "an einsum sums nothing";
  }
  return {};
}

/// The FLOPs of a graph of contractions, sums and products.
std::uint64_t flops_of(const nk::graph_view& g) {
  std::uint64_t total = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind == nk::op::mul) total += nk::numel(g.shape_of(id));
    if (g[id].kind == nk::op::sum) total += nk::numel(g.shape_of(g.operand(id, 0)));
    if (g[id].kind != nk::op::einsum) continue;
    const nk::row::einsum_labels l(g, id);
    std::map<std::int32_t, std::size_t> size;
    for (std::size_t k = 0; k < l.arity(); ++k)
      for (std::size_t i = 0; i < l.operand(k).size(); ++i)
        size[l.operand(k)[i]] = g.shape_of(g.operand(id, static_cast<int>(k)))[i];
    std::uint64_t points = 2;
    for (const auto& [label, n] : size) points *= n;
    total += points;
  }
  return total;
}

/// The fewest FLOPs over all orders, one by one.
std::uint64_t by_brute_force(std::vector<std::uint64_t> terms, std::uint64_t result,
                             const std::vector<std::size_t>& size) {
  if (terms.size() == 1) return 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      std::vector<std::uint64_t> rest;
      std::uint64_t needed = result;
      for (std::size_t k = 0; k < terms.size(); ++k)
        if (k != i && k != j) {
          rest.push_back(terms[k]);
          needed |= terms[k];
        }
      const std::uint64_t all = terms[i] | terms[j];
      std::uint64_t step = all == (all & needed) ? 1 : 2;
      for (std::size_t l = 0; l < size.size(); ++l)
        if (all >> l & 1) step *= size[l];
      rest.push_back(all & needed);
      least = std::min(least, step + by_brute_force(rest, result, size));
    }
  return least;
}

struct random_einsum {
  std::vector<labels> operands;
  labels result;
  std::vector<std::size_t> size;

  explicit random_einsum(std::uint64_t seed, std::size_t most_operands) {
    nk::testing::random_source random(seed);
    operands.resize(static_cast<std::size_t>(1 + random.below(most_operands)));
    const int count = 1 + random.below(7);
    std::vector<bool> used(static_cast<std::size_t>(count), false);
    for (int l = 0; l < count; ++l) size.push_back(static_cast<std::size_t>(1 + random.below(4)));
    for (labels& operand : operands)
      for (int i = random.below(4); i > 0; --i) {
        operand.push_back(random.below(static_cast<std::size_t>(count)));
        used[static_cast<std::size_t>(operand.back())] = true;
      }
    for (int l = 0; l < count; ++l)
      if (used[static_cast<std::size_t>(l)] && random.chance(0.4))
        result.insert(result.begin() + random.below(result.size() + 1), l);
  }
};

std::string first_difference(const std::vector<std::vector<double>>& got,
                             const std::vector<std::vector<double>>& want, double tolerance) {
  if (got.size() != want.size()) return "another number of outputs";
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (got[k].size() != want[k].size()) return "output " + std::to_string(k) + " has another size";
    for (std::size_t i = 0; i < got[k].size(); ++i) {
      const bool both_nan = got[k][i] != got[k][i] && want[k][i] != want[k][i];
      const bool close = got[k][i] == want[k][i] ||
                         std::abs(got[k][i] - want[k][i]) <= tolerance * (1 + std::abs(want[k][i]));
      if (!close && !both_nan) return "output " + std::to_string(k) + " element " + std::to_string(i);
    }
  }
  return {};
}

std::string broken_by_contract(const nk::graph& g, objective goal, std::uint64_t seed) {
  const nk::graph pairwise = nk::passes::contract(g.view(), goal);
  if (const auto flaw = nk::passes::verify(pairwise.view()); !flaw.none())
    return "node " + std::to_string(flaw.node) + ": " + std::string(flaw.sentence);
  if (const std::string why = not_normal(pairwise.view()); !why.empty()) return why;
  for (std::size_t k = 0; k < g.outputs.size(); ++k)
    if (g.nodes[static_cast<std::size_t>(g.outputs[k])].type !=
        pairwise.nodes[static_cast<std::size_t>(pairwise.outputs[k])].type)
      return "another dtype";
  const auto inputs = nk::testing::random_inputs(g.view(), seed);
  return first_difference(nk::interpret(pairwise.view(), inputs), nk::interpret(g.view(), inputs), 1e-11);
}

struct einsum_attention {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t x[] = {b.input(0, nk::dtype::f32, {64, 8}), b.input(1, nk::dtype::f32, {8, 64}),
                              b.input(2, nk::dtype::f32, {64, 8})};
    const std::int32_t from[] = {0, 1, 1, 2, 2, 3}, to[] = {0, 3};
    b.output(b.einsum(x, from, to));
    return nk::passes::contract(b.view());
  }
};

}  // namespace

// (a b) c takes 2 * 64 * 64 * 8 * 2 FLOPs, a (b c) takes 2 * 64 * 8 * 8 * 2.
TEST_CASE("the pass runs in constant evaluation") {
  static_assert(nk::frozen<einsum_attention>::view().size() == 5);
  static_assert(nk::frozen<einsum_attention>::view().shape_of(3) == nk::shape{8, 8});
  CHECK(flops_of(nk::frozen<einsum_attention>::view()) == 2 * 2 * 64 * 8 * 8);
}

TEST_CASE("contract keeps the values of random einsums and leaves the normal form") {
  int pairs = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed)
    for (const objective goal : {objective::least_time, objective::least_flops}) {
      const random_einsum e(seed, seed % 10 == 0 ? 11 : 5);
      const nk::graph g = einsum_graph(e.operands, e.result, e.size);
      INFO("seed " << seed << "\n" << nk::to_string(g.view()));
      REQUIRE(broken_by_contract(g, goal, seed) == "");
      for (const nk::node& n : nk::passes::contract(g.view(), goal).nodes) pairs += n.kind == nk::op::einsum;
    }
  CHECK(pairs > 1000);
}

TEST_CASE("contract keeps the values of random graphs") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const nk::graph g = nk::testing::random_graph(seed, {.operations = 60});
    INFO("seed " << seed << "\n" << nk::to_string(g.view()));
    REQUIRE(broken_by_contract(g, objective::least_time, seed) == "");
  }
}

TEST_CASE("the least FLOPs are those of brute force, and the graph's") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    random_einsum e(seed, 5);
    std::vector<std::uint64_t> terms;
    std::uint64_t result = 0;
    for (const labels& operand : e.operands) {
      terms.push_back(0);
      for (std::int32_t l : operand) terms.back() |= std::uint64_t{1} << l;
    }
    for (std::int32_t l : e.result) result |= std::uint64_t{1} << l;
    const nk::graph g = einsum_graph(e.operands, e.result, e.size);
    const int id = g.outputs[0];
    INFO("seed " << seed << "\n" << nk::to_string(g.view()));
    if (terms.size() < 2) continue;
    REQUIRE(nk::passes::contraction_flops(g.view(), id) == by_brute_force(terms, result, e.size));

    // Each operand's own labels, of any size, summed before all steps or by them.
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t chosen = 0; chosen >> terms.size() == 0; ++chosen) {
      std::vector<std::uint64_t> summed = terms;
      std::uint64_t sums = 0;
      for (std::size_t k = 0; k < terms.size(); ++k) {
        std::uint64_t others = result;
        for (std::size_t j = 0; j < terms.size(); ++j)
          if (j != k) others |= terms[j];
        if ((chosen >> k & 1) == 0 || (terms[k] & ~others) == 0) continue;
        std::uint64_t additions = 1;
        for (std::size_t l = 0; l < e.size.size(); ++l)
          if (terms[k] >> l & 1) additions *= e.size[l];
        sums += additions;
        summed[k] &= others;
      }
      least = std::min(least, sums + by_brute_force(summed, result, e.size));
    }
    REQUIRE(nk::passes::contraction_flops(g.view(), id, true) == least);
  }
}

TEST_CASE("least_flops writes the order that was counted") {
  int more_by_time = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    // No label of size 1, whose sum is no work, and distinct operands, since equal parts are made once.
    random_einsum e(seed, 6);
    for (std::size_t& s : e.size) s += 1;
    const nk::graph g = einsum_graph(e.operands, e.result, e.size);
    const nk::graph least = nk::passes::contract(g.view(), objective::least_flops);
    INFO("seed " << seed << "\n" << nk::to_string(g.view()) << nk::to_string(least.view()));
    const std::uint64_t counted = nk::passes::contraction_flops(g.view(), g.outputs[0], true);
    REQUIRE(flops_of(least.view()) == counted);
    more_by_time += flops_of(nk::passes::contract(g.view()).view()) > counted;
  }
  CHECK(more_by_time > 0);  // the objectives differ
}

TEST_CASE("the FLOPs of the corpus's einsums are the least there are") {
  std::ifstream file(NAPKIN_SOURCE_DIR "/tests/cases/data/einsum.jsonl");
  REQUIRE(file.good());
  int cases = 0, searched = 0;
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    const std::string equation = row.at("equation_explicit");
    const auto arrow = equation.find("->");
    // letters become labels in the order of their appearance; an ellipsis's axes count from the right
    std::map<std::string, std::int32_t> number;
    std::vector<std::size_t> size;
    const auto label = [&](const std::string& name, std::size_t n) {
      const auto [at, is_new] = number.try_emplace(name, static_cast<std::int32_t>(number.size()));
      if (is_new) size.push_back(n);
      if (n != 1) size[static_cast<std::size_t>(at->second)] = n;  // size 1 broadcasts
      return at->second;
    };
    std::vector<labels> operands;
    labels result;
    std::size_t begin = 0, widest = 0;
    for (const auto& shape : row.at("shapes")) {
      const std::size_t end = std::min(equation.find(',', begin), arrow);
      const std::string term = equation.substr(begin, end - begin);
      begin = end + 1;
      const std::size_t dots = term.find("...");
      const std::size_t letters = dots == std::string::npos ? term.size() : term.size() - 3;
      const std::size_t rank = shape.size();
      labels l;
      std::size_t axis = 0;
      for (std::size_t i = 0; i < term.size();) {
        if (i == dots) {
          for (std::size_t left = rank - letters; left > 0; --left, ++axis)
            l.push_back(label("..." + std::to_string(left), shape.at(axis)));
          widest = std::max(widest, rank - letters);
          i += 3;
        } else {
          l.push_back(label(std::string(1, term[i]), shape.at(axis)));
          ++axis;
          ++i;
        }
      }
      operands.push_back(l);
    }
    for (std::size_t i = arrow + 2; i < equation.size();) {
      if (equation.compare(i, 3, "...") == 0) {
        for (std::size_t left = widest; left > 0; --left)
          result.push_back(label("..." + std::to_string(left), 1));
        i += 3;
      } else {
        result.push_back(label(std::string(1, equation[i]), 1));
        ++i;
      }
    }
    const nk::graph g = einsum_graph(operands, result, size);
    INFO(line);
    ++cases;
    searched += operands.size() > 2;
    REQUIRE(nk::passes::contraction_flops(g.view(), g.outputs[0]) ==
            row.at("optimal_flops").get<std::uint64_t>());
    REQUIRE(nk::passes::contraction_flops(g.view(), g.outputs[0], true) ==
            row.at("optimal_flops_presum").get<std::uint64_t>());
  }
  CHECK(cases >= 300);
  CHECK(searched >= 100);
}

// At equal FLOPs per label, least_flops forms an outer product that is larger than anything read or written.
TEST_CASE("least_time keeps away from large intermediates") {
  const nk::graph g = einsum_graph({{0}, {1}, {0, 1, 2}}, {2}, {1000, 1000, 2}, nk::dtype::f32);
  const nk::graph fast = nk::passes::contract(g.view());
  for (const nk::node& n : fast.nodes) {
    if (n.kind == nk::op::input) continue;
    CHECK(nk::numel(fast.shapes[static_cast<std::size_t>(n.shape_id)]) <= 2000);
  }
}

TEST_CASE("an einsum keeps its origin, its composite and its dtype") {
  nk::builder b;
  const std::int32_t x[] = {b.input(0, nk::dtype::bf16, {2, 3}), b.input(1, nk::dtype::bf16, {3, 4}),
                            b.input(2, nk::dtype::bf16, {4, 5})};
  b.origin = 7;
  b.composite = 3;
  const std::int32_t from[] = {0, 1, 1, 2, 2, 3}, to[] = {0, 3};
  b.output(b.einsum(x, from, to));
  const nk::graph g = nk::passes::contract(b.view());
  int found = 0;
  for (const nk::node& n : g.nodes) {
    if (n.kind != nk::op::einsum) continue;
    ++found;
    CHECK(n.origin == 7);
    CHECK(n.composite == 3);
    CHECK(n.type == nk::dtype::bf16);
  }
  CHECK(found == 2);
}
