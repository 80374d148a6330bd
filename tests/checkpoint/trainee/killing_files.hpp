// The machine's files, for a process that is to die (SIGKILL, which nothing can catch) before the n-th call.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "napkin/train/file_system.hpp"

class killing_files final : public napkin::file_system {
 public:
  /// 0: never.
  void kill_in(int calls) { left_ = calls; }

  int open_for_reading(const std::string& path) override { return next().open_for_reading(path); }
  int create_exclusively(const std::string& path) override { return next().create_exclusively(path); }
  int open_for_appending(const std::string& path) override { return next().open_for_appending(path); }
  int close(int file) override { return next().close(file); }
  int reserve(int file, std::uint64_t size) override { return next().reserve(file, size); }
  std::int64_t write(int file, const void* data, std::size_t size) override {
    // Half of it first: a process may die within a write, too.
    if (left_ == 1) files_.write(file, data, size / 2);
    return next().write(file, data, size);
  }
  std::int64_t read_at(int file, void* data, std::size_t size, std::uint64_t offset) override {
    return next().read_at(file, data, size, offset);
  }
  int sync(int file) override { return next().sync(file); }
  int sync_folder(const std::string& folder) override { return next().sync_folder(folder); }
  int rename(const std::string& from, const std::string& to) override { return next().rename(from, to); }
  int remove(const std::string& path) override { return next().remove(path); }
  int make_folder(const std::string& folder) override { return next().make_folder(folder); }
  int status(const std::string& path, napkin::file_status& found) override {
    return next().status(path, found);
  }
  int status_of_link(const std::string& path, napkin::file_status& found) override {
    return next().status_of_link(path, found);
  }
  int status(int file, napkin::file_status& found) override { return next().status(file, found); }
  std::int64_t free_space(const std::string& folder) override { return next().free_space(folder); }
  int list(const std::string& folder, std::vector<std::string>& names) override {
    return next().list(folder, names);
  }
  int map(int file, std::uint64_t size, napkin::file_mapping& mapping) override {
    return next().map(file, size, mapping);
  }
  int lock(const std::string& path, int& holder) override { return next().lock(path, holder); }

 private:
  napkin::file_system& next() {
    if (left_ > 0 && --left_ == 0) ::raise(SIGKILL);
    return files_;
  }

  napkin::file_system& files_ = napkin::posix_file_system();
  int left_ = 0;
};
