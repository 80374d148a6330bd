// Comparing and suggesting names, written to be cheap in constant evaluation (std::string_view's own
// comparison goes through several calls for each character).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace napkin::pattern {

constexpr bool same(std::string_view a, std::string_view b) {
  std::size_t left = a.size();
  if (left != b.size()) return false;
  const char* p = a.data();
  const char* q = b.data();
  for (; left != 0; --left)
    if (*p++ != *q++) return false;
  return true;
}

/// Byte order, as numpy sorts the labels of an einsum without a result: upper case before lower.
constexpr bool before(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const auto x = static_cast<unsigned char>(a[i]);
    const auto y = static_cast<unsigned char>(b[i]);
    if (x != y) return x < y;
  }
  return a.size() < b.size();
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from a to b, in bytes (optimal
/// string alignment); names beyond 31 bytes count as far from everything.
constexpr std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t longest = 31;
  if (a.size() > longest || b.size() > longest) return longest + 1;
  std::array<std::array<std::size_t, longest + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& above_that = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t best = above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && above_that[j - 2] + 1 < best) best = above_that[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[a.size() % 3][b.size()];
}

/// Keeps the candidate nearest to a misspelt name; one further than a third of its length (at least one
/// edit) is no suggestion.
class nearest_name {
 public:
  constexpr explicit nearest_name(std::string_view misspelt)
      : misspelt_(misspelt), limit_(misspelt.size() < 6 ? 1 : misspelt.size() / 3) {}

  constexpr void consider(std::string_view candidate) {
    const std::size_t longer = candidate.size() > misspelt_.size() ? candidate.size() : misspelt_.size();
    const std::size_t shorter = candidate.size() + misspelt_.size() - longer;
    if (candidate.empty() || same(candidate, misspelt_) || longer - shorter > limit_) return;
    const std::size_t distance = edit_distance(misspelt_, candidate);
    if (distance > limit_ || distance >= shorter) return;  // one letter is not a misspelling of another
    if (!best_.empty() && distance >= best_distance_) return;
    best_ = candidate;
    best_distance_ = distance;
  }
  constexpr std::string_view best() const { return best_; }

 private:
  std::string_view misspelt_;
  std::string_view best_{};
  std::size_t limit_;
  std::size_t best_distance_ = 0;
};

}  // namespace napkin::pattern
