// The order of an einsum as text.
#include "napkin/cost/contraction.hpp"

#include <algorithm>

#include "napkin/cost/report.hpp"

namespace napkin {

namespace {

std::string words(std::size_t term, const labelled_shape& s) {
  std::string text = "(" + std::to_string(term) + ")";
  for (std::size_t i = 0; i < s.labels.size(); ++i)
    text += " " + (s.labels[i].empty() ? std::to_string(s.sizes[i]) : std::string(s.labels[i]));
  return text;
}
std::string in_brackets(const shape& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}
void pad_to(std::string& text, std::size_t width) { text.append(width - text.size(), ' '); }

}  // namespace

std::string to_string(std::string_view pattern, objective order, std::size_t operands,
                      std::span<const contraction_line> steps, std::uint64_t flops,
                      std::uint64_t direct_flops) {
  std::vector<std::array<std::string, 3>> rows;
  std::array<std::size_t, 3> widest{};
  std::size_t next = operands;
  for (const contraction_line& s : steps) {
    const std::size_t gives = s.sums_alone() ? s.left : next++;
    std::array<std::string, 3> row{words(s.left, s.from_left), in_brackets(s.result.sizes),
                                   with_separators(s.flops) + " FLOPs"};
    if (!s.sums_alone()) row[0] += ", " + words(s.right, s.from_right);
    row[0] += " -> " + words(gives, s.result);
    for (std::size_t i = 0; i < 3; ++i) widest[i] = std::max(widest[i], row[i].size());
    rows.push_back(row);
  }
  std::string text = "\"" + std::string(pattern) + "\", " +
                     (order == objective::least_time ? "least_time" : "least_flops") + ": " +
                     std::to_string(steps.size()) + (steps.size() == 1 ? " step, " : " steps, ") +
                     with_separators(flops) + " FLOPs (directly " + with_separators(direct_flops) + ")\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string number = std::to_string(i);
    text += "  " + number + std::string(std::max<std::size_t>(1, 4 - number.size()), ' ');
    pad_to(rows[i][0], widest[0]);
    pad_to(rows[i][1], widest[1]);
    text += rows[i][0] + "  " + rows[i][1] + "  " + std::string(widest[2] - rows[i][2].size(), ' ') +
            rows[i][2] + "\n";
  }
  return text;
}

}  // namespace napkin
