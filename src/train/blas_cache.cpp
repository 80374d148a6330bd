// Chosen algorithms to and from a file.
#include "napkin/train/blas_cache.hpp"

#include <cstdint>
#include <string_view>

#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"

namespace napkin {
namespace {

constexpr std::uint64_t largest_cache = 16u << 20;  // bytes; a product takes some 300

/// The first line of a cache; the others are the text of its choices.
std::string first_line() { return "candidates " + std::to_string(on_cuda::candidates_timed) + '\n'; }

}  // namespace

void load_blas_cache(file_system& files, const std::string& path, on_cuda::blas_choices& choices,
                     std::vector<std::string>& complaints) {
  try {
    file_status found;
    if (path.empty() || !find_status(files, path, found)) return;
    const std::string text = read_text(files, path, largest_cache), first = first_line();
    if (text.compare(0, first.size(), first) != 0) {
      complaints.push_back(
          "the cache " + in_quotes(path) +
          " is of another napkin, which timed other candidates: its algorithms are chosen anew");
      return;
    }
    std::vector<std::string> lines;
    choices.add(std::string_view(text).substr(first.size()), lines);
    for (const std::string& line : lines)
      complaints.push_back("in the cache " + in_quotes(path) + ": " + line);
  } catch (const error& problem) {
    complaints.push_back(std::string("ignored the cache of algorithms: ") + problem.what());
  }
}

void save_blas_cache(file_system& files, const std::string& path, const on_cuda::blas_choices& choices,
                     std::vector<std::string>& complaints) {
  if (path.empty()) return;
  try {
    const std::string text = first_line() + choices.text();
    make_folders(files, folder_of(path));
    write_atomically(files, path, text);
  } catch (const error& problem) {
    complaints.push_back("the chosen algorithms are not cached: " + std::string(problem.what()));
  }
}

}  // namespace napkin
