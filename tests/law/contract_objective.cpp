// The default order of contraction is never slower, by predicted time, than the one of fewest FLOPs: over the
// corpus's einsums and random ones, also where there are too many operands to search.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <napkin/passes/contract.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

namespace nk = napkin;
using nk::objective;
using nk::passes::detail::contraction_problem;
using labels = std::vector<std::int32_t>;

nk::graph einsum_of(const std::vector<labels>& operands, const labels& result,
                    const std::vector<std::size_t>& size) {
  nk::builder b;
  std::vector<std::int32_t> xs, all;
  for (const labels& operand : operands) {
    nk::shape s;
    for (const std::int32_t l : operand) s.push_back(size[static_cast<std::size_t>(l)]);
    xs.push_back(b.input(static_cast<int>(xs.size()), nk::dtype::f32, s));
    all.insert(all.end(), operand.begin(), operand.end());
  }
  b.output(b.einsum({xs.data(), xs.size()}, {all.data(), all.size()}, {result.data(), result.size()}));
  return b.take();
}

struct verdict {
  bool time_holds, flops_hold, differ;
};
verdict compare(const nk::graph& g) {
  contraction_problem time(g.view(), g.outputs[0], objective::least_time);
  contraction_problem flops(g.view(), g.outputs[0], objective::least_flops);
  for (std::size_t k = 0; k < time.operands.size(); ++k) {  // lone labels are summed before, in either
    const auto lone = flops.lone(k);
    time.operands[k] &= ~lone;
  }
  flops.operands = time.operands;
  const auto by_time = nk::passes::detail::order_of(time), by_flops = nk::passes::detail::order_of(flops);
  const auto cost = [](const contraction_problem& p, const auto& order) {
    return nk::passes::detail::cost_of_order(p, order);
  };
  return {cost(time, by_time) <= cost(time, by_flops),
          time.operands.size() > 8 || cost(flops, by_flops) <= cost(flops, by_time),
          cost(flops, by_time) != cost(flops, by_flops)};
}

}  // namespace

TEST_CASE("least_time is never slower than least_flops, on random einsums", "[contract]") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  constexpr std::size_t sizes[] = {1, 2, 3, 8, 40, 300};
  std::size_t slower = 0, more = 0, differ = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::size_t count = 3 + below(7);
    std::vector<std::size_t> size;
    for (std::size_t l = 0; l < count; ++l) size.push_back(sizes[below(6)]);
    std::vector<labels> operands(round % 5 == 0 ? 9 + below(7) : 2 + below(5));
    std::vector<bool> used(count, false);
    for (labels& operand : operands)
      for (std::size_t l = 0; l < count; ++l)
        if (below(3) == 0 && operand.size() < 4) {
          operand.push_back(static_cast<std::int32_t>(l));
          used[l] = true;
        }
    labels result;
    for (std::size_t l = 0; l < count; ++l)
      if (used[l] && below(4) == 0) result.push_back(static_cast<std::int32_t>(l));
    const verdict v = compare(einsum_of(operands, result, size));
    slower += v.time_holds ? 0 : 1;
    more += v.flops_hold ? 0 : 1;
    differ += v.differ ? 1 : 0;
  }
  CHECK(slower == 0);
  CHECK(more == 0);
  CHECK(differ > 20);  // the objectives are two
}

TEST_CASE("least_time is never slower than least_flops, on the corpus", "[contract]") {
  std::ifstream file(NAPKIN_SOURCE_DIR "/tests/cases/data/einsum.jsonl");
  REQUIRE(file.good());
  std::size_t rows = 0, wrong = 0;
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    const std::string equation = row.at("equation_explicit");
    if (equation.find("...") != std::string::npos || row.at("shapes").size() < 2) continue;
    std::map<char, std::int32_t> number;
    std::vector<std::size_t> size;
    std::vector<labels> operands(1);
    std::size_t at = 0;
    const auto arrow = equation.find("->");
    for (std::size_t i = 0; i < arrow; ++i) {
      if (equation[i] == ',') {
        operands.emplace_back();
        at = 0;
        continue;
      }
      const auto [l, is_new] = number.try_emplace(equation[i], static_cast<std::int32_t>(number.size()));
      if (is_new) size.push_back(1);
      const std::size_t n = row.at("shapes").at(operands.size() - 1).at(at++);
      if (n != 1) size[static_cast<std::size_t>(l->second)] = n;  // size 1 broadcasts
      operands.back().push_back(l->second);
    }
    labels result;
    for (std::size_t i = arrow + 2; i < equation.size(); ++i) result.push_back(number.at(equation[i]));
    const verdict v = compare(einsum_of(operands, result, size));
    ++rows;
    wrong += v.time_holds && v.flops_hold ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(rows >= 200);
}
