// A disk in memory that can lose power: it knows what was synced, and what of the rest may or may not have
// arrived. Stricter than most file systems: a synced file without a synced folder may have no name. Files
// only grow, as this library writes them.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "napkin/train/file_system.hpp"

/// What becomes, most often, of a sector that was written and not synced.
enum class sector_fate { written, dropped, trashed };

class memory_files final : public napkin::file_system {
  struct file {
    std::string now;
    std::string on_disk;
  };
  using file_pointer = std::shared_ptr<file>;
  struct change {  // of a folder, not synced
    std::string gone, made;
    file_pointer what;
  };
  struct handle {
    file_pointer of;
    std::string path;
    std::size_t at = 0;  // where a write goes
    bool locks = false;
  };

 public:
  memory_files() { folders_.insert("/"); }
  memory_files(const memory_files& other) { *this = other; }
  /// A disk of its own, and nothing open.
  memory_files& operator=(const memory_files& other) {
    std::map<file*, file_pointer> copies;
    const auto copy = [&copies](const file_pointer& f) {
      if (f == nullptr) return f;
      file_pointer& c = copies[f.get()];
      if (c == nullptr) c = std::make_shared<file>(*f);
      return c;
    };
    folders_ = other.folders_;
    now_.clear();
    on_disk_.clear();
    for (const auto& [path, f] : other.now_) now_[path] = copy(f);
    for (const auto& [path, f] : other.on_disk_) on_disk_[path] = copy(f);
    changes_ = other.changes_;
    for (change& c : changes_) c.what = copy(c.what);
    handles_.clear();
    return *this;
  }

  /// Called before and after each sync, of a file or a folder.
  std::function<void()> at_sync;

  /// The disk as power comes back: unsynced sectors of `sector` bytes are mostly as `fate` says, unsynced
  /// changes of folders have happened or not, each by itself.
  memory_files after_power_loss(sector_fate fate, std::size_t sector, std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    memory_files image;
    image.folders_ = folders_;
    auto names = on_disk_;
    const auto keeps_folders = random() % 4;  // none, all, or each by itself
    for (const change& c : changes_) {
      if (keeps_folders == 0 || (keeps_folders > 1 && random() % 2 == 0)) continue;
      if (!c.gone.empty()) names.erase(c.gone);
      if (!c.made.empty()) names[c.made] = c.what;
    }
    std::map<file*, file_pointer> copies;
    for (const auto& [path, f] : names) {
      file_pointer& c = copies[f.get()];
      if (c == nullptr) {
        c = std::make_shared<file>();
        c->now = c->on_disk = torn(*f, fate, sector, random);
      }
      image.now_[path] = image.on_disk_[path] = c;
    }
    return image;
  }

  /// Set a file as if it had always been there.
  void put(const std::string& path, const std::string& bytes) {
    auto f = std::make_shared<file>();
    f->now = f->on_disk = bytes;
    now_[path] = on_disk_[path] = f;
  }
  const std::string& bytes(const std::string& path) const { return now_.at(path)->now; }
  bool has(const std::string& path) const { return now_.contains(path); }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& [path, f] : now_) all.push_back(path);
    return all;
  }
  std::size_t open_files() const { return handles_.size(); }

  int open_for_reading(const std::string& path) override {
    const auto found = now_.find(path);
    if (found == now_.end()) return -ENOENT;
    return add({found->second, path});
  }
  int create_exclusively(const std::string& path) override {
    if (now_.contains(path) || folders_.contains(path)) return -EEXIST;
    if (!folders_.contains(napkin::folder_of(path))) return -ENOENT;
    auto f = std::make_shared<file>();
    now_[path] = f;
    changes_.push_back({"", path, f});
    return add({f, path});
  }
  int open_for_appending(const std::string& path) override {
    const auto found = now_.find(path);
    if (found == now_.end()) return create_exclusively(path);
    return add({found->second, path, found->second->now.size()});
  }
  int close(int number) override { return handles_.erase(number) == 1 ? 0 : -EBADF; }
  int reserve(int number, std::uint64_t size) override {
    std::string& bytes = handles_.at(number).of->now;
    if (bytes.size() < size) bytes.resize(static_cast<std::size_t>(size));
    return 0;
  }
  std::int64_t write(int number, const void* data, std::size_t size) override {
    handle& h = handles_.at(number);
    std::string& bytes = h.of->now;
    if (bytes.size() < h.at + size) bytes.resize(h.at + size);
    if (size != 0) std::memcpy(bytes.data() + h.at, data, size);
    h.at += size;
    return static_cast<std::int64_t>(size);
  }
  std::int64_t read_at(int number, void* data, std::size_t size, std::uint64_t offset) override {
    const std::string& bytes = handles_.at(number).of->now;
    if (offset >= bytes.size()) return 0;
    const std::size_t got = std::min(size, bytes.size() - static_cast<std::size_t>(offset));
    if (got != 0) std::memcpy(data, bytes.data() + offset, got);
    return static_cast<std::int64_t>(got);
  }
  int sync(int number) override {
    if (at_sync) at_sync();
    file& f = *handles_.at(number).of;
    f.on_disk = f.now;
    if (at_sync) at_sync();
    return 0;
  }
  int sync_folder(const std::string& folder) override {
    if (!folders_.contains(folder)) return -ENOENT;
    if (at_sync) at_sync();
    std::vector<change> left;
    for (const change& c : changes_) {
      if (napkin::folder_of(c.made.empty() ? c.gone : c.made) != folder) {
        left.push_back(c);
        continue;
      }
      if (!c.gone.empty()) on_disk_.erase(c.gone);
      if (!c.made.empty()) on_disk_[c.made] = c.what;
    }
    changes_ = std::move(left);
    if (at_sync) at_sync();
    return 0;
  }
  int rename(const std::string& from, const std::string& to) override {
    const auto found = now_.find(from);
    if (found == now_.end()) return -ENOENT;
    const file_pointer f = found->second;
    now_.erase(found);
    now_[to] = f;
    changes_.push_back({from, to, f});
    return 0;
  }
  int remove(const std::string& path) override {
    if (now_.erase(path) == 0) return -ENOENT;
    changes_.push_back({path, "", nullptr});
    return 0;
  }
  int make_folder(const std::string& folder) override {
    if (!folders_.contains(napkin::folder_of(folder))) return -ENOENT;
    return folders_.insert(folder).second ? 0 : -EEXIST;  // at once: a folder's loss is the loss of nothing
  }
  int status(const std::string& path, napkin::file_status& found) override {
    const auto f = now_.find(path);
    if (f != now_.end())
      found = {napkin::file_kind::regular, f->second->now.size()};
    else if (folders_.contains(path))
      found = {napkin::file_kind::folder, 0};
    else
      return -ENOENT;
    return 0;
  }
  int status_of_link(const std::string& path, napkin::file_status& found) override {
    return status(path, found);
  }
  int status(int number, napkin::file_status& found) override {
    found = {napkin::file_kind::regular, handles_.at(number).of->now.size()};
    return 0;
  }
  std::int64_t free_space(const std::string& folder) override {
    return folders_.contains(folder) ? std::int64_t{1} << 40 : -ENOENT;
  }
  int list(const std::string& folder, std::vector<std::string>& names) override {
    if (!folders_.contains(folder)) return -ENOENT;
    names.clear();
    for (const auto& [path, f] : now_)
      if (napkin::folder_of(path) == folder) names.push_back(path.substr(path.rfind('/') + 1));
    return 0;
  }
  int map(int number, std::uint64_t size, napkin::file_mapping& mapping) override {
    const std::string& now = handles_.at(number).of->now;
    if (now.size() < size) return -EINVAL;
    mapping = napkin::file_mapping(size);
    std::memcpy(mapping.data(), now.data(), size);
    return 0;
  }
  int lock(const std::string& path, int& holder) override {
    holder = 1;
    for (const auto& [number, h] : handles_)
      if (h.locks && h.path == path) return -EWOULDBLOCK;
    if (!now_.contains(path)) {
      now_[path] = std::make_shared<file>();
      changes_.push_back({"", path, now_[path]});
    }
    return add({now_[path], path, 0, true});
  }

 private:
  int add(handle h) {
    const int number = next_++;
    handles_.emplace(number, std::move(h));
    return number;
  }

  static std::string torn(const file& f, sector_fate fate, std::size_t sector, std::mt19937_64& random) {
    // Its length is the old one, the new one, or ends at a sector between.
    std::size_t size = f.now.size();
    if (f.on_disk.size() != size && random() % 2 == 0) {
      const std::size_t sectors = (std::max(size, f.on_disk.size()) + sector - 1) / sector;
      size = random() % 2 == 0 ? f.on_disk.size() : std::min(size, random() % (sectors + 1) * sector);
      size = std::max(size, std::min(f.on_disk.size(), f.now.size()));
    }
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size; at += sector) {
      const std::size_t length = std::min(sector, size - at);
      const auto part = [&](const std::string& from) {
        std::string s = at < from.size() ? from.substr(at, length) : std::string();
        s.resize(length);
        return s;
      };
      const std::string before = part(f.on_disk), after = part(f.now);
      if (before == after && at + length <= f.on_disk.size()) {
        bytes.replace(at, length, after);
        continue;
      }
      const std::uint64_t drawn = random() % 4;  // half of them by `fate`, the rest by chance
      const sector_fate own = drawn < 2 ? fate : static_cast<sector_fate>(random() % 3);
      if (own == sector_fate::trashed)
        for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(random());
      else
        bytes.replace(at, length, own == sector_fate::written ? after : before);
    }
    return bytes;
  }

  std::set<std::string> folders_;
  std::map<std::string, file_pointer> now_, on_disk_;
  std::vector<change> changes_;
  std::map<int, handle> handles_;
  int next_ = 3;
};

/// A file whose writing was not finished; empty if there is none.
inline std::string temporary_file(const memory_files& disk) {
  for (const std::string& path : disk.paths())
    if (path.find(".tmp.") != std::string::npos) return path;
  return "";
}
