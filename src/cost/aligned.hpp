// Cells as text whose columns line up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace napkin {

using table = std::vector<std::vector<std::string>>;

/// Columns are as wide as their widest cell; the first `set_left` are set left, the others right.
inline std::string aligned_text(const table& rows, std::size_t set_left) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == width.size()) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string fill(width[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += c < set_left ? row[c] + fill : fill + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace napkin
