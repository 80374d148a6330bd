// The ledger's lines: sorted, one number each, layers named as in a report.
#include "napkin/train/ledger.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "napkin/cost/report.hpp"
#include "napkin/optim/sgd.hpp"
#include "support/cruncher.hpp"

namespace nk = napkin;

namespace {

using step = nk::train_step<lecture::cruncher<2, 4, 3>, nk::sgd>;
constexpr std::size_t size = nk::ledger_size<step>("> ", "it");
constexpr auto text = nk::write_ledger<step, size>("> ", "it");

std::vector<std::string> lines() {
  std::istringstream in(std::string(text.data(), text.size()));
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}
bool has(const std::string& line) {
  const auto all = lines();
  return std::find(all.begin(), all.end(), line) != all.end();
}

}  // namespace

TEST_CASE("a ledger has a line for each number, sorted", "[ledger]") {
  const auto all = lines();
  REQUIRE(all.size() > 30);
  CHECK(std::is_sorted(all.begin(), all.end()));
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  for (const std::string& line : all) {
    INFO(line);
    CHECK(line.substr(0, 5) == "> it ");
    CHECK(line.find_first_not_of("0123456789,", line.rfind(' ') + 1) == std::string::npos);
  }
  CHECK(text.back() == '\n');
}

TEST_CASE("its numbers are the step's", "[ledger]") {
  CHECK(has("> it parameters " + nk::with_separators(3 * 16 + 4)));
  CHECK(has("> it forward.flops.matmul " + nk::with_separators(step::cost.forward.flops.matmul)));
  CHECK(has("> it memory.peak " + nk::with_separators(step::memory.peak)));
  CHECK(has("> it exact.backward " + nk::with_separators(nk::conventions::exact<step>.backward)));
  CHECK(has("> it optimizer.launches " + nk::with_separators(step::cost.optimizer.launches)));
  // three equal layers are one, and with the head they are all products
  std::uint64_t layers = 0;
  for (const auto& l : nk::detail::layers_of<step>()) layers += l.matmul;
  CHECK(layers == step::cost.flops.matmul);
}

TEST_CASE("layers are called as in a report", "[ledger]") {
  for (const char* const path : {"blocks.3.attention.query", "blocks.3.4.query", "layer3.w", "embedding", "",
                                 "blocks.11.12", "a.b", "blocks.3x.w", "blocks.x3.w"}) {
    std::string letters;
    for (nk::detail::layer_letters l(path); const char c = l.next();) letters += c;
    INFO(path);
    CHECK(letters == nk::layer_of(path));
  }
  CHECK(nk::detail::compare_layers("blocks.3.mlp.up", "blocks.11.mlp.down") == 0);
  CHECK(nk::detail::compare_layers("blocks.3.attention.up", "blocks.11.mlp.down") < 0);
  CHECK(nk::detail::compare_layers("head", "hea.x") > 0);
}
