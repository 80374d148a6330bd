// A file that appears whole or not at all, also after a crash or a loss of power: written beside its
// place under another name, synced, renamed, and the folder synced. Not for files that grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "napkin/train/file_system.hpp"

namespace napkin {

/// Write, `seal`, then `publish`. Until `publish` has renamed, the old file is untouched, and going out of
/// scope removes the temporary one. Throws `input_error` (folder missing, no permission) or `system_error`;
/// a failed sync is final, as the system forgets it once told: nothing is tried again on the same file.
class atomic_file {
 public:
  /// `size`, in bytes, is what will be written; refused at once if the disk has less room, and taken from it.
  atomic_file(file_system& files, std::string path, std::uint64_t size);
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() { discard(); }

  void write(std::span<const std::byte> data);
  void seal();  // all that was written is on the disk; `temporary_path` may now be read back
  void publish();

  const std::string& temporary_path() const { return temporary_; }

 private:
  void discard();

  file_system* files_;
  std::string path_;
  std::string temporary_;
  int file_ = -1;
  std::uint64_t written_ = 0;  // bytes
  bool there_ = false;         // the temporary file exists
};

/// Replace a small file at once.
void write_atomically(file_system& files, const std::string& path, std::string_view text);

/// Remove what killed processes left beside `path`. For the one writer of a folder, before it begins.
void remove_temporaries(file_system& files, const std::string& path);

}  // namespace napkin
