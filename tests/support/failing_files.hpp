// The machine's files, or others, but the n-th call fails, or reads and writes are short: for tests of what
// is left over.
#pragma once

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "napkin/train/file_system.hpp"

class failing_files : public napkin::file_system {
 public:
  explicit failing_files(napkin::file_system& files = napkin::posix_file_system()) : files_(files) {}

  int fail_at = 0;            // the call, counted from 1, that fails; 0 for none
  int error_number = EIO;     // with this
  bool from_then_on = false;  // and all calls after it
  bool short_calls = false;   // read and write at most 3 bytes, every other call EINTR
  bool removals_fail = false;
  int calls = 0;
  int opened = 0;  // less those closed
  std::vector<std::string> log;

  int open_for_reading(const std::string& path) override {
    return handed_out(fails("open") ? -error_number : files_.open_for_reading(path));
  }
  int create_exclusively(const std::string& path) override {
    return handed_out(fails("create") ? -error_number : files_.create_exclusively(path));
  }
  int open_for_appending(const std::string& path) override {
    return handed_out(fails("open to append") ? -error_number : files_.open_for_appending(path));
  }
  int close(int file) override {
    --opened;
    const int result = files_.close(file);  // as on Linux, the number is gone even if close says otherwise
    return fails("close") ? -error_number : result;
  }
  int reserve(int file, std::uint64_t size) override {
    return fails("reserve") ? -error_number : files_.reserve(file, size);
  }
  std::int64_t write(int file, const void* data, std::size_t size) override {
    if (fails("write")) return -error_number;
    if (interrupted()) return -EINTR;
    return files_.write(file, data, short_calls ? std::min<std::size_t>(size, 3) : size);
  }
  std::int64_t read_at(int file, void* data, std::size_t size, std::uint64_t offset) override {
    if (fails("read")) return -error_number;
    if (interrupted()) return -EINTR;
    return files_.read_at(file, data, short_calls ? std::min<std::size_t>(size, 3) : size, offset);
  }
  int sync(int file) override { return fails("sync") ? -error_number : files_.sync(file); }
  int sync_folder(const std::string& folder) override {
    return fails("sync folder") ? -error_number : files_.sync_folder(folder);
  }
  int rename(const std::string& from, const std::string& to) override {
    return fails("rename") ? -error_number : files_.rename(from, to);
  }
  // Fails only if asked to, as what cannot be removed is left.
  int remove(const std::string& path) override {
    if (removals_fail) return fails("remove") ? -error_number : files_.remove(path);
    log.push_back("remove");
    return files_.remove(path);
  }
  int make_folder(const std::string& folder) override {
    return fails("make folder") ? -error_number : files_.make_folder(folder);
  }
  int status(const std::string& path, napkin::file_status& found) override {
    return fails("status") ? -error_number : files_.status(path, found);
  }
  int status_of_link(const std::string& path, napkin::file_status& found) override {
    return fails("status") ? -error_number : files_.status_of_link(path, found);
  }
  int status(int file, napkin::file_status& found) override {
    return fails("status") ? -error_number : files_.status(file, found);
  }
  std::int64_t free_space(const std::string& folder) override {
    return fails("free space") ? -error_number : room >= 0 ? room : files_.free_space(folder);
  }
  int list(const std::string& folder, std::vector<std::string>& names) override {
    return fails("list") ? -error_number : files_.list(folder, names);
  }
  int map(int file, std::uint64_t size, napkin::file_mapping& mapping) override {
    return fails("map") ? -error_number : files_.map(file, size, mapping);
  }

  int lock(const std::string& path, int& holder) override {
    return handed_out(fails("lock") ? -error_number : files_.lock(path, holder));
  }

  std::int64_t room = -1;  // bytes free; the machine's own if negative

 private:
  bool fails(const char* call) {
    log.emplace_back(call);
    ++calls;
    return fail_at != 0 && (calls == fail_at || (from_then_on && calls > fail_at));
  }
  bool interrupted() {
    if (!short_calls) return false;
    interrupt_ = !interrupt_;
    return interrupt_;
  }
  int handed_out(int file) {
    opened += file >= 0;
    return file;
  }

  napkin::file_system& files_;
  bool interrupt_ = false;
};
