// The machine's own files behind the seam, and the checked operations over any file system.
#include "napkin/train/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/train/utf8.hpp"
#include "watched_mapping.hpp"

namespace napkin {
namespace {

int answer(int result) { return result < 0 ? -errno : result; }

int open_above_standard(const std::string& path, int flags, mode_t mode = 0) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (file < 0 || file > STDERR_FILENO) return answer(file);
  const int moved = answer(::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  ::close(file);
  return moved;
}

// What a lock's file holds: a process's number and a newline, or nothing yet; zeros where power was lost before
// they were written.
bool is_of_lock(std::string_view text) {
  if (text.find_first_not_of('\0') == text.npos) return true;
  if (!text.ends_with('\n')) return false;
  text.remove_suffix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

int write_holder(int lock) {
  char text[32];
  const ssize_t there = ::pread(lock, text, sizeof text, 0);
  if (there < 0) return -errno;
  if (!is_of_lock({text, static_cast<std::size_t>(there)})) return -EEXIST;
  const int length = std::snprintf(text, sizeof text, "%d\n", static_cast<int>(::getpid()));
  if (::ftruncate(lock, 0) != 0) return -errno;
  const ssize_t written = ::pwrite(lock, text, static_cast<std::size_t>(length), 0);
  if (written < 0) return -errno;
  return written == length ? 0 : -EIO;
}

file_status status_from(const struct stat& found) {
  file_status status;
  if (S_ISREG(found.st_mode)) status.kind = file_kind::regular;
  if (S_ISDIR(found.st_mode)) status.kind = file_kind::folder;
  status.size = static_cast<std::uint64_t>(found.st_size);
  status.version = static_cast<std::uint64_t>(found.st_ino) * 0x9e3779b97f4a7c15u ^
                   (static_cast<std::uint64_t>(found.st_mtim.tv_sec) * 1'000'000'000u +
                    static_cast<std::uint64_t>(found.st_mtim.tv_nsec));
  return status;
}

class posix_files final : public file_system {
 public:
  int open_for_reading(const std::string& path) override {
    return open_above_standard(path, O_RDONLY | O_NONBLOCK);
  }
  int create_exclusively(const std::string& path) override {
    return open_above_standard(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  }
  int open_for_appending(const std::string& path) override {
    return open_above_standard(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0666);
  }
  int close(int file) override { return answer(::close(file)); }
  int reserve(int file, std::uint64_t size) override {
    return answer(::fallocate(file, 0, 0, static_cast<off_t>(size)));
  }
  std::int64_t write(int file, const void* data, std::size_t size) override {
    const ssize_t written = ::write(file, data, size);
    return written < 0 ? -errno : written;
  }
  std::int64_t read_at(int file, void* data, std::size_t size, std::uint64_t offset) override {
    const ssize_t got = ::pread(file, data, size, static_cast<off_t>(offset));
    return got < 0 ? -errno : got;
  }
  int sync(int file) override { return answer(::fsync(file)); }
  int sync_folder(const std::string& folder) override {
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return -errno;
    const int result = answer(::fsync(file));
    ::close(file);
    return result;
  }
  int rename(const std::string& from, const std::string& to) override {
    return answer(::rename(from.c_str(), to.c_str()));
  }
  int remove(const std::string& path) override { return answer(::unlink(path.c_str())); }
  int make_folder(const std::string& folder) override { return answer(::mkdir(folder.c_str(), 0777)); }
  int status(const std::string& path, file_status& found) override {
    struct stat result {};
    if (::stat(path.c_str(), &result) != 0) return -errno;
    found = status_from(result);
    return 0;
  }
  int status_of_link(const std::string& path, file_status& found) override {
    struct stat result {};
    if (::lstat(path.c_str(), &result) != 0) return -errno;
    found = status_from(result);
    return 0;
  }
  int status(int file, file_status& found) override {
    struct stat result {};
    if (::fstat(file, &result) != 0) return -errno;
    found = status_from(result);
    return 0;
  }
  std::int64_t free_space(const std::string& folder) override {
    struct statvfs found {};
    if (::statvfs(folder.c_str(), &found) != 0) return -errno;
    // Some network file systems do not say how large they are; then there is nothing to check.
    constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
    std::int64_t bytes = 0;
    if (found.f_blocks == 0 || __builtin_mul_overflow(found.f_bavail, found.f_frsize, &bytes)) return unknown;
    return bytes;
  }
  int list(const std::string& folder, std::vector<std::string>& names) override {
    DIR* stream = ::opendir(folder.c_str());
    if (stream == nullptr) return -errno;
    const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, &::closedir);
    names.clear();
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) return -errno;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
  }
  int map(int file, std::uint64_t size, file_mapping& mapping) override {
    struct pages {
      void* begin;
      std::size_t size;
      ~pages() {
        if (begin != MAP_FAILED) ::munmap(begin, size);
      }
    };
    std::unique_ptr<pages> mapped(new pages{MAP_FAILED, size});
    mapped->begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (mapped->begin == MAP_FAILED) return -errno;
    void* const begin = mapped->begin;
    mapping = detail::kept_by(std::move(mapped), begin, size);
    return 0;
  }
  int lock(const std::string& path, int& holder) override {
    const int file = open_above_standard(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file < 0) return file;
    char text[32] = {};
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const int error_number = errno;
      holder = ::pread(file, text, sizeof text - 1, 0) > 0 ? std::atoi(text) : 0;
      ::close(file);
      return -error_number;
    }
    const int result = write_holder(file);
    if (result >= 0) return file;
    ::close(file);
    return result;
  }
};

bool is_the_users_to_mend(int error_number) {
  switch (error_number) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case EISDIR:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
      return true;
    default:
      return false;
  }
}

}  // namespace

file_system& posix_file_system() {
  static posix_files files;
  return files;
}

void throw_file_error(std::string_view call, const std::string& path, int error_number) {
  const std::string text = "cannot " + std::string(call) + " " + in_quotes(path) + ": " +
                           std::generic_category().message(error_number);
  if (is_the_users_to_mend(error_number)) throw input_error(text);
  throw system_error(text, error_number);
}

void throw_file_error(std::string_view call, const std::string& path, std::uint64_t offset,
                      int error_number) {
  throw_file_error(std::string(call) + " at byte " + std::to_string(offset) + " of", path, error_number);
}

bool interruptions::again(std::int64_t answer) {
  constexpr int most = 100;
  in_a_row_ = answer == -EINTR ? in_a_row_ + 1 : 0;
  return in_a_row_ > 0 && in_a_row_ <= most;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string result = "\"";
  std::size_t taken = 0;
  while (taken < text.size()) {
    const std::size_t length = std::max<std::size_t>(length_of_letter(text.substr(taken)), 1);
    if (taken + length > longest) break;
    const std::string_view letter = text.substr(taken, length);
    result += letter == "\"" || letter == "\\" ? escaped(letter[0]) : without_controls(letter);
    taken += length;
  }
  return result + (taken < text.size() ? "...\"" : "\"");
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

input_file::input_file(file_system& files, std::string path)
    : files_(&files), path_(std::move(path)), file_(-1) {
  interruptions interrupted;
  do file_ = files.open_for_reading(path_);
  while (interrupted.again(file_));
  if (file_ < 0) throw_file_error("open", path_, -file_);
}

input_file::input_file(input_file&& other) noexcept
    : files_(other.files_), path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

input_file::~input_file() {
  if (file_ >= 0) files_->close(file_);
}

file_status input_file::status() const {
  file_status found;
  const int result = files_->status(file_, found);
  if (result < 0) throw_file_error("examine", path_, -result);
  return found;
}

void input_file::read(std::uint64_t offset, std::span<std::byte> out) const {
  interruptions interrupted;
  while (!out.empty()) {
    const std::int64_t got = files_->read_at(file_, out.data(), out.size(), offset);
    if (interrupted.again(got)) continue;
    if (got < 0) throw_file_error("read", path_, offset, static_cast<int>(-got));
    if (got == 0)
      throw input_error(in_quotes(path_) + " ends at byte " + std::to_string(offset) + ", where " +
                        std::to_string(out.size()) + " more bytes were expected: it is cut short");
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

file_mapping input_file::map(std::uint64_t size) const {
  file_mapping mapping;
  const int result = files_->map(file_, size, mapping);
  if (result < 0) throw_file_error("map", path_, -result);
  return detail::watched(mapping, size, path_);
}

bool find_status(file_system& files, const std::string& path, file_status& found) {
  const int result = files.status(path, found);
  if (result == -ENOENT) return false;
  if (result < 0) throw_file_error("examine", path, -result);
  return true;
}

std::vector<std::string> list_folder(file_system& files, const std::string& folder) {
  std::vector<std::string> names;
  const int result = files.list(folder, names);
  if (result < 0) throw_file_error("list the folder", folder, -result);
  std::sort(names.begin(), names.end());
  return names;
}

void make_folders(file_system& files, const std::string& folder) {
  file_status found;
  if (find_status(files, folder, found)) {
    if (found.kind != file_kind::folder) throw input_error(in_quotes(folder) + " is a file, not a folder");
    return;
  }
  const std::string above = folder_of(folder);
  if (above != folder) make_folders(files, above);
  const int result = files.make_folder(folder);
  if (result < 0 && result != -EEXIST) throw_file_error("make the folder", folder, -result);
  sync_folder(files, above);
}

void sync_folder(file_system& files, const std::string& folder) {
  const int result = files.sync_folder(folder);
  if (result < 0) throw_file_error("sync the folder", folder, -result);
}

void remove_file(file_system& files, const std::string& path) {
  const int result = files.remove(path);
  if (result < 0 && result != -ENOENT) throw_file_error("remove", path, -result);
}

std::string read_text(file_system& files, const std::string& path, std::uint64_t most) {
  const input_file file(files, path);
  const file_status status = file.status();
  if (status.kind != file_kind::regular) throw input_error(in_quotes(path) + " is not a regular file");
  if (status.size > most)
    throw input_error(in_quotes(path) + ": expected " + std::to_string(most) + " bytes at most, found " +
                      std::to_string(status.size));
  std::string text(static_cast<std::size_t>(status.size), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace napkin
