// Chosen algorithms to and from a file.
#include "napkin/train/blas_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"

namespace napkin {
namespace {

constexpr std::uint64_t largest_cache = 16u << 20;  // bytes; a product takes some 300

}  // namespace

void load_blas_cache(file_system& files, const std::string& path, on_cuda::blas_choices& choices,
                     std::vector<std::string>& complaints) {
  const std::string ignored = "ignored the cache of algorithms " + in_quotes(path) + ": ";
  try {
    file_status found;
    if (!find_status(files, path, found)) return;
    if (found.kind != file_kind::regular || found.size > largest_cache) {
      complaints.push_back(ignored + (found.kind != file_kind::regular ? "it is not a regular file"
                                                                       : "it is larger than 16 MiB"));
      return;
    }
    const input_file file(files, path);
    std::string text(std::min(file.status().size, largest_cache), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    std::vector<std::string> lines;
    choices.add(text, lines);
    for (const std::string& line : lines)
      complaints.push_back("in the cache " + in_quotes(path) + ": " + line);
  } catch (const error& problem) {
    complaints.push_back(ignored + problem.what());
  }
}

void save_blas_cache(file_system& files, const std::string& path, const on_cuda::blas_choices& choices,
                     std::vector<std::string>& complaints) {
  try {
    const std::string text = choices.text();
    make_folders(files, folder_of(path));
    write_atomically(files, path, std::as_bytes(std::span(text)));
  } catch (const error& problem) {
    complaints.push_back("the chosen algorithms are not cached: " + std::string(problem.what()));
  }
}

}  // namespace napkin
