// A ledger for code review: what a model's training step costs stands in ledger/costs.ledger, which the build
// compares with the compiler's own numbers (napkin_ledger in CMakeLists.txt). This program prints those, and
// what a change of one line would do to them: feed-forward layers of 320 instead of 256.
#include <cstdio>
#include <map>
#include <napkin/train/ledger.hpp>
#include <sstream>
#include <string>

#include "ledger/model.hpp"

namespace nk = napkin;

namespace {

struct wider : ledger_example::config {
  struct ffn : nk::dim<"ffn", 320> {};
};
using wider_step = nk::train_step<nk::nn::gpt<wider>, nk::adamw>;

/// The ledger, by what each number is of.
template <class Step>
std::map<std::string, std::string> ledger_of() {
  constexpr std::size_t size = nk::ledger_size<Step>("", "step");
  constexpr auto text = nk::write_ledger<Step, size>("", "step");
  std::istringstream lines(std::string(text.data(), text.size()));
  std::map<std::string, std::string> numbers;
  for (std::string line; std::getline(lines, line);)
    numbers[line.substr(0, line.rfind(' '))] = line.substr(line.rfind(' ') + 1);
  return numbers;
}

}  // namespace

int main() {
  const auto before = ledger_of<ledger_example::step>(), after = ledger_of<wider_step>();
  std::size_t same = 0;
  for (const auto& [what, number] : before) {
    const std::string& now = after.at(what);
    if (now == number)
      ++same;
    else
      std::printf("- %s %s\n+ %s %s\n", what.c_str(), number.c_str(), what.c_str(), now.c_str());
  }
  std::printf("%zu numbers are the same\n", same);
  return before.size() == after.size() && same > 0 && same < before.size() ? 0 : 1;
}
