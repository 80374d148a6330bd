// The checkpoints of a run in a folder: which is the latest, which are kept, and which one a run goes on from
// when the latest is damaged. What a checkpoint is, is in train/checkpoint_file.hpp; docs/checkpoints.md has
// the whole protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/file_system.hpp"

namespace napkin {

/// A checkpoint's name: "checkpoint-000012-step-3400.safetensors" is the twelfth that was saved in its
/// folder. Saves are counted through all runs, so that the last saved is the highest whatever its step.
struct checkpoint_name {
  std::uint64_t number = 0;
  std::uint64_t step = 0;  // updates made; what counts is what the file says

  std::string text() const;
  /// Nothing for what is no such name, nor for one whose number is beyond 15 digits: no run saves so often.
  static std::optional<checkpoint_name> parse(std::string_view text);
  bool operator==(const checkpoint_name&) const = default;
};

/// What a run went on from.
struct resumed_run {
  run_state state;
  std::string path;
  std::vector<std::string> passed_over;  // why not a later one: a line for each; empty: it is the latest
};

/// A folder of checkpoints. One writer at a time: it holds the file `lock`.
class checkpoint_folder {
 public:
  checkpoint_folder(file_system& files, std::string folder) : files_(&files), folder_(std::move(folder)) {}
  checkpoint_folder(const checkpoint_folder&) = delete;
  checkpoint_folder& operator=(const checkpoint_folder&) = delete;
  ~checkpoint_folder();

  const std::string& path() const { return folder_; }
  std::string path_of(const checkpoint_name& name) const { return folder_ + "/" + name.text(); }
  /// The files that are named as checkpoints, sound or not, by number.
  std::vector<checkpoint_name> list() const;

  /// Become the writer, before the first step rather than at the first save: make the folder, lock it, remove
  /// what killed processes left, and see that a file of `bytes` can be written. `input_error` where another
  /// process is the writer or `lock` is no lock but somebody's file, `system_error` where the disk is full.
  void prepare(std::uint64_t bytes);

  /// Save the contents, and make them the latest; then remove all checkpoints but the last two and the last
  /// whose numbers are all finite. Returns the new file's path. Whatever call fails, what was the latest
  /// stays whole. Errors as `save_safetensors`.
  std::string save(const detail::checkpoint_contents& contents, const run_state& state);

  /// Load the checkpoint that the file LATEST names. Where that is not possible, since LATEST or the
  /// checkpoint is missing or damaged, or its numbers are not all finite: the last saved that can be loaded,
  /// with the reasons in `passed_over`. `checkpoint_error` if there is none, or if one is sound but another
  /// program's: then an older one is not looked for, as it would be the wrong one.
  resumed_run load(const detail::checkpoint_contents& contents);

 private:
  std::optional<checkpoint_name> read_latest(const std::vector<checkpoint_name>& names,
                                             std::string& objection) const;
  void prune(const detail::checkpoint_contents& contents, bool newest_is_finite);
  std::vector<checkpoint_name> all_names() const;  // whatever bears them
  std::uint64_t next_number() const;

  file_system* files_;
  std::string folder_;
  int lock_ = -1;
  std::vector<checkpoint_name> damaged_;  // found so when loading: they are none of the last two
};

}  // namespace napkin
