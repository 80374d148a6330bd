// Saving beside what is there, naming the latest, removing the oldest; and finding one that is sound.
#include "napkin/train/checkpoint_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"

namespace napkin {
namespace {

constexpr std::string_view latest_name = "LATEST";
constexpr std::string_view lock_name = "lock";
constexpr std::string_view prefix = "checkpoint-", middle = "-step-", suffix = ".safetensors";
constexpr std::uint64_t longest_latest = 100;  // bytes
constexpr std::uint64_t highest_number = 999'999'999'999'999;

/// The decimal number that `text` begins with, taken off it.
bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

std::string checkpoint_name::text() const {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%06llu", static_cast<unsigned long long>(number));
  return std::string(prefix) + digits + std::string(middle) + std::to_string(step) + std::string(suffix);
}

std::optional<checkpoint_name> checkpoint_name::parse(std::string_view text) {
  checkpoint_name name;
  std::string_view rest = text;
  if (!take(rest, prefix) || !take_number(rest, name.number) || !take(rest, middle) ||
      !take_number(rest, name.step) || rest != suffix || name.text() != text || name.number > highest_number)
    return std::nullopt;
  return name;
}

checkpoint_folder::~checkpoint_folder() {
  if (lock_ >= 0) files_->close(lock_);
}

std::vector<checkpoint_name> checkpoint_folder::all_names() const {
  std::vector<checkpoint_name> names;
  for (const std::string& entry : list_folder(*files_, folder_))
    if (const auto name = checkpoint_name::parse(entry)) names.push_back(*name);
  std::sort(names.begin(), names.end(), [](const checkpoint_name& a, const checkpoint_name& b) {
    return a.number != b.number ? a.number < b.number : a.step < b.step;
  });
  return names;
}

std::vector<checkpoint_name> checkpoint_folder::list() const {
  std::vector<checkpoint_name> files = all_names();
  std::erase_if(files, [this](const checkpoint_name& name) {
    file_status found;
    const int result = files_->status(path_of(name), found);
    return result == -ENOENT ||
           (result >= 0 && found.kind != file_kind::regular);  // else opening it says why
  });
  return files;
}

std::uint64_t checkpoint_folder::next_number() const {
  const auto taken = all_names();
  if (taken.empty()) return 1;
  if (taken.back().number == highest_number)
    throw input_error(in_quotes(path_of(taken.back())) +
                      " has the highest number that there is: give it a lower one, or name another folder");
  return taken.back().number + 1;
}

void checkpoint_folder::prepare(std::uint64_t bytes) {
  make_folders(*files_, folder_);
  if (lock_ < 0) {
    const std::string path = folder_ + "/" + std::string(lock_name);
    int holder = 0;
    interruptions interrupted;
    do lock_ = files_->lock(path, holder);
    while (interrupted.again(lock_));
    if (lock_ == -EWOULDBLOCK)
      throw input_error("the folder " + in_quotes(folder_) + " is in use by process " +
                        (holder > 0 ? std::to_string(holder) : "(number unknown)") +
                        ": wait until it has ended, or name another folder");
    if (lock_ == -EEXIST)
      throw input_error(
          "the file " + in_quotes(path) +
          " is not the lock of a process but has other text: move it away, or name another folder");
    if (lock_ < 0) throw_file_error("lock", path, -lock_);
  }
  // "checkpoint-..." and "LATEST", unfinished.
  remove_temporaries(*files_, folder_ + "/" + std::string(latest_name));
  for (const std::string& entry : list_folder(*files_, folder_)) {
    const std::size_t end = entry.find(suffix);
    if (end == std::string::npos || end + suffix.size() == entry.size()) continue;
    const std::string finished = entry.substr(0, end + suffix.size());
    if (checkpoint_name::parse(finished)) remove_temporaries(*files_, folder_ + "/" + finished);
  }
  const atomic_file probe(*files_, path_of({next_number(), 0}),
                          bytes);  // gone again at the end of this function
}

std::string checkpoint_folder::save(const detail::checkpoint_contents& contents, const run_state& state) {
  if (lock_ < 0) prepare(0);
  const checkpoint_name name{next_number(), state.step};
  const std::string path = path_of(name);
  const bool finite = detail::save_contents(*files_, path, contents, state);
  write_atomically(*files_, folder_ + "/" + std::string(latest_name), name.text() + "\n");
  prune(contents, finite);
  return path;
}

void checkpoint_folder::prune(const detail::checkpoint_contents& contents, bool newest_is_finite) {
  const auto names = list();
  constexpr std::size_t kept_whatever_they_hold = 2;
  std::size_t kept = 0;
  bool has_finite = newest_is_finite;  // the newest has just been read back
  bool removed = false;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const bool damaged = std::find(damaged_.begin(), damaged_.end(), *name) != damaged_.end();
    const std::string path = path_of(*name);
    bool keep = !damaged && kept < kept_whatever_they_hold;
    if (!damaged && !has_finite && name != names.rbegin()) {
      try {
        const auto file = safetensors_file::open(*files_, path, checksums::of_tensors);
        has_finite = detail::header_is_sound(file, contents) && file.number("finite") != 0 &&
                     file.verify() == file.entries().size();
        keep = keep || has_finite;
      } catch (const error&) {
        // Damaged, or no checkpoint's header at all: not the one.
      }
    }
    kept += keep;
    if (keep) continue;
    remove_file(*files_, path);
    removed = true;
  }
  if (removed) sync_folder(*files_, folder_);
}

std::optional<checkpoint_name> checkpoint_folder::read_latest(const std::vector<checkpoint_name>& names,
                                                              std::string& objection) const {
  const std::string path = folder_ + "/" + std::string(latest_name);
  try {
    std::string text = read_text(*files_, path, longest_latest);
    const bool ends = text.ends_with('\n');
    if (ends) text.pop_back();
    const auto name = checkpoint_name::parse(text);
    if (!ends || !name)
      throw input_error(in_quotes(path) + " is damaged: expected the name of a checkpoint, found " +
                        in_quotes(text));
    if (std::find(names.begin(), names.end(), *name) != names.end()) return name;
    objection = in_quotes(path) + " names " + in_quotes(text) + ", which is not there";
  } catch (const input_error& problem) {
    objection = problem.what();
  } catch (const system_error& problem) {
    if (problem.error_number != EIO) throw;
    objection = problem.what();
  }
  return std::nullopt;
}

resumed_run checkpoint_folder::load(const detail::checkpoint_contents& contents) {
  std::vector<checkpoint_name> names;
  try {
    names = list();
  } catch (const input_error& problem) {
    throw checkpoint_error(std::string("there is no checkpoint to go on from: ") + problem.what());
  }
  resumed_run run;
  std::string objection;
  const auto latest = read_latest(names, objection);
  if (names.empty())
    throw checkpoint_error("there is no checkpoint to go on from in " + in_quotes(folder_) +
                           ": begin a new run, or name the folder of another");
  if (!latest) run.passed_over.push_back(objection);

  std::reverse(names.begin(), names.end());
  if (latest) std::rotate(names.begin(), std::find(names.begin(), names.end(), *latest), names.end());
  damaged_.clear();
  for (const checkpoint_name& name : names) {
    run.path = path_of(name);
    try {
      run.state = detail::load_contents(*files_, run.path, contents, true);
      return run;
    } catch (const checkpoint_error& problem) {
      if (problem.mismatched) throw;
      run.passed_over.emplace_back(problem.what());
    } catch (const system_error& problem) {
      if (problem.error_number != EIO) throw;  // of which the next might be read
      run.passed_over.emplace_back(problem.what());
    }
    damaged_.push_back(name);
  }
  std::string text = "no checkpoint in " + in_quotes(folder_) + " can be gone on from";
  for (const std::string& reason : run.passed_over) text += "; " + reason;
  throw checkpoint_error(text);
}

}  // namespace napkin
