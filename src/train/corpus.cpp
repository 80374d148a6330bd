// Finding the files of a corpus and splitting them.
#include "napkin/train/corpus.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <utility>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/train/token_shards.hpp"

namespace napkin {
namespace {

std::string joined(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

bool is_folder(file_system& files, const std::string& path) {
  file_status found;
  return find_status(files, path, found) && found.kind == file_kind::folder;
}

// A link that leads nowhere, or to itself, is passed over.
bool leads_to_a_file(file_system& files, const std::string& path) {
  file_status found;
  const int result = files.status(path, found);
  if (result == -ENOENT || result == -ELOOP || result == -ENOTDIR) return false;
  if (result < 0) throw_file_error("examine", path, -result);
  return found.kind == file_kind::regular;
}

// Add the regular files of a folder and those below, by their paths from the top.
void add_files(file_system& files, const std::string& top, const std::string& below,
               std::vector<std::string>& paths) {
  for (const std::string& name : list_folder(files, below.empty() ? top : joined(top, below))) {
    if (name.starts_with('.')) continue;
    const std::string relative = below.empty() ? name : below + "/" + name;
    const std::string path = joined(top, relative);
    file_status found;
    const int result = files.status_of_link(path, found);
    if (result < 0) throw_file_error("examine", path, -result);
    if (found.kind == file_kind::folder) {
      add_files(files, top, relative, paths);
    } else if (found.kind == file_kind::regular || leads_to_a_file(files, path)) {
      paths.push_back(relative);
    }
  }
}

// Whether one of the words is a word of the name: no letters are beside it.
bool has_word(std::string_view name, std::initializer_list<std::string_view> words) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (auto at = name.begin(); at != name.end();) {
    const auto end = std::find_if_not(at, name.end(), is_letter);
    if (std::find(words.begin(), words.end(), std::string_view(at, end)) != words.end()) return true;
    at = std::find_if(end, name.end(), is_letter);
  }
  return false;
}

corpus split_by_position(file_system& files, const std::string& path, std::vector<token_segment> segments,
                         std::uint64_t vocabulary) {
  const token_source all(files, in_quotes(path), std::move(segments), vocabulary);
  const std::uint64_t border = all.size() - all.size() / 10;
  return {path, all.slice(0, border, "the training part (the first 90%) of " + in_quotes(path)),
          all.slice(border, all.size(), "the validation part (the last 10%) of " + in_quotes(path))};
}

corpus open_pair(file_system& files, const std::string& path, const std::vector<std::string>& token_files,
                 std::uint64_t vocabulary) {
  std::vector<token_segment> train;
  std::vector<token_segment> validation;
  for (const std::string& name : token_files) {
    const bool trains = has_word(name, {"train", "training"});
    if (!trains && !has_word(name, {"val", "valid", "validation"})) continue;
    (trains ? train : validation).push_back(find_tokens(files, joined(path, name)));
  }
  if (train.empty() || validation.empty())
    throw data_error("the folder " + in_quotes(path) + " has token files (" + in_quotes(token_files.front()) +
                     ") but none named " + (train.empty() ? "train" : "val") +
                     ".bin: put both train.bin and val.bin there, or name one file");
  return {
      path, token_source(files, "the training data of " + in_quotes(path), std::move(train), vocabulary),
      token_source(files, "the validation data of " + in_quotes(path), std::move(validation), vocabulary)};
}

corpus open_folder(file_system& files, const std::string& path, std::uint64_t vocabulary) {
  std::vector<std::string> token_files;
  bool unfinished = false;
  for (const std::string& name : list_folder(files, path)) {
    if (name.ends_with(".bin") && !name.starts_with('.')) token_files.push_back(name);
    unfinished = unfinished || name == unfinished_tokens::name;
  }
  if (!token_files.empty() && unfinished)
    throw data_error("the folder " + in_quotes(path) +
                     " has token files that are not all there: " + in_quotes(unfinished_tokens::name) +
                     " is left of a program that was stopped, or has not ended yet; make them again");
  if (!token_files.empty()) return open_pair(files, path, token_files, vocabulary);

  std::vector<std::string> names;
  add_files(files, path, "", names);
  std::sort(names.begin(), names.end());
  std::vector<token_segment> train;
  std::vector<token_segment> validation;
  std::uint64_t bytes = 0;
  const bool by_file = names.size() >= 10;
  for (std::size_t i = 0; i < names.size(); ++i) {
    token_segment segment = find_bytes(files, joined(path, names[i]));
    bytes += segment.count;
    (by_file && i % 10 == 9 ? validation : train).push_back(std::move(segment));
  }
  if (bytes == 0)
    throw data_error("the folder " + in_quotes(path) + " has no text: " + std::to_string(names.size()) +
                     " files in it and below, 0 bytes in all");
  if (!by_file) return split_by_position(files, path, std::move(train), vocabulary);
  return {
      path, token_source(files, "the training text of " + in_quotes(path), std::move(train), vocabulary),
      token_source(files, "the validation text of " + in_quotes(path), std::move(validation), vocabulary)};
}

// 12, or 12.2.0; nothing for a name that is no version.
std::vector<int> version_of(std::string_view name) {
  std::vector<int> version;
  while (true) {
    int number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc{} || number < 0) return {};
    version.push_back(number);
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (name.empty()) return version;
    if (name.front() != '.') return {};
    name.remove_prefix(1);
  }
}

// The name in a folder that is `prefix` and the highest version; empty if there is none.
std::string highest_version(file_system& files, const std::string& folder, std::string_view prefix) {
  if (!is_folder(files, folder)) return "";
  std::string best;
  std::vector<int> best_version;
  for (const std::string& name : list_folder(files, folder)) {
    if (!name.starts_with(prefix)) continue;
    std::vector<int> version = version_of(std::string_view(name).substr(prefix.size()));
    if (version <= best_version) continue;
    best = name;
    best_version = std::move(version);
  }
  return best;
}

}  // namespace

corpus open_corpus(file_system& files, const std::string& path, std::uint64_t vocabulary) {
  file_status found;
  if (path.empty() || !find_status(files, path, found))
    throw input_error("there is no data at " + in_quotes(path) +
                      ": name a text file, a folder of text, or a token file");
  if (found.kind == file_kind::folder) return open_folder(files, path, vocabulary);
  return split_by_position(files, path, {find_tokens(files, path)}, vocabulary);
}

std::string default_corpus_folder(file_system& files, const std::string& root) {
#ifdef NAPKIN_LIBRARY_HEADERS
  if (root.empty() && is_folder(files, NAPKIN_LIBRARY_HEADERS)) return NAPKIN_LIBRARY_HEADERS;
#endif
  const std::string gnu = root + "/usr/include/c++";
  if (const std::string version = highest_version(files, gnu, ""); !version.empty())
    return gnu + "/" + version;
  const std::string llvm = highest_version(files, root + "/usr/lib", "llvm-");
  for (const std::string& folder : {gnu + "/v1", root + "/usr/lib/" + llvm + "/include/c++/v1"})
    if (is_folder(files, folder)) return folder;
  throw input_error(
      "the default text, the C++ standard library's headers below /usr/include/c++, is not on this machine: "
      "install them (libstdc++-12-dev) or name your own data");
}

}  // namespace napkin
