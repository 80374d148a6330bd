// A file that grows, record by record: logs. Each record is handed to the system when it is made, so that
// only a loss of power takes it away; not for files that must be whole (train/atomic_file.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "napkin/train/file_system.hpp"

namespace napkin {

class appended_file {
 public:
  /// Goes on where the file at `path` ends, or makes it.
  ///
  /// Errors  `input_error` where it may not be written, or is no regular file
  appended_file(file_system& files, std::string path);
  /// A file of a new name: `path`, or where something is there `path`.1, .2 and so on.
  static appended_file make_new(file_system& files, const std::string& path);
  appended_file(appended_file&& other) noexcept;
  appended_file& operator=(appended_file&&) = delete;
  ~appended_file();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return status().size; }  // bytes

  /// Errors  `system_error` where the disk is full or fails: of the record a part may be written
  void append(std::span<const std::byte> record);

 private:
  appended_file(file_system& files, std::string path, int file);
  file_status status() const;

  file_system* files_;
  std::string path_;
  int file_;
};

}  // namespace napkin
