// The only door to the disk: every call that this library makes on files passes through here, so that a
// test can let any one of them fail, or lose what was not synced. Below: raw calls that answer as the
// kernel does, and thin checked operations over them. Not an abstraction over other systems than POSIX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/tensor/storage.hpp"

namespace napkin {

enum class file_kind { regular, folder, other };

struct file_status {
  file_kind kind = file_kind::other;
  std::uint64_t size = 0;  // bytes
  /// Of which file it is and when it was last written: another number, another content.
  std::uint64_t version = 0;
};

/// A file's bytes in memory, read on demand by the system; unmapped with the last copy.
/// Only to be read.
using file_mapping = storage;

/// The raw calls. Each answers with a value of zero or more, or with -errno; a read or a write may be
/// short, and may answer -EINTR: the operations below this class see to both.
class file_system {
 public:
  virtual ~file_system() = default;

  virtual int open_for_reading(const std::string& path) = 0;    // a file number; never blocks on a pipe
  virtual int create_exclusively(const std::string& path) = 0;  // -EEXIST where anything is, a link too
  virtual int open_for_appending(const std::string& path) = 0;  // made where nothing is; never blocks
  virtual int close(int file) = 0;
  /// Take room on the disk for so many bytes, so that no write to them fails for want of it.
  virtual int reserve(int file, std::uint64_t size) = 0;
  virtual std::int64_t write(int file, const void* data, std::size_t size) = 0;  // appends
  virtual std::int64_t read_at(int file, void* data, std::size_t size, std::uint64_t offset) = 0;
  virtual int sync(int file) = 0;
  virtual int sync_folder(const std::string& folder) = 0;
  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int remove(const std::string& path) = 0;
  virtual int make_folder(const std::string& folder) = 0;                       // one level
  virtual int status(const std::string& path, file_status& found) = 0;          // follows links
  virtual int status_of_link(const std::string& path, file_status& found) = 0;  // a link is `other`
  virtual int status(int file, file_status& found) = 0;
  virtual std::int64_t free_space(const std::string& folder) = 0;  // bytes an ordinary user may write
  virtual int list(const std::string& folder, std::vector<std::string>& names) = 0;  // in no order
  virtual int map(int file, std::uint64_t size, file_mapping& mapping) = 0;          // size > 0
  /// Hold a file, made if it is not there, until the number returned is closed or the process ends, and write
  /// this process's number into it. -EWOULDBLOCK where another holds it: `holder` is its process, 0 if
  /// unknown. -EEXIST where it has other text than a process's number: it is no lock.
  virtual int lock(const std::string& path, int& holder) = 0;
};

/// The machine's own files. The numbers that it hands out are never those of standard input, output and
/// error, also where these are closed: what is printed then would be written into the file.
file_system& posix_file_system();

/// Throw what a failed call means: `input_error` where the path is the user's to mend (missing, no
/// permission, not a folder, read-only), else `system_error`. One line: the call, the path, the reason.
[[noreturn]] void throw_file_error(std::string_view call, const std::string& path, int error_number);
/// The same of a call at a byte of the file.
[[noreturn]] void throw_file_error(std::string_view call, const std::string& path, std::uint64_t offset,
                                   int error_number);

/// Whether a call that was interrupted is to be made again; not without end, as a file system that answers so
/// for ever would hold the program for ever.
class interruptions {
 public:
  bool again(std::int64_t answer);

 private:
  int in_a_row_ = 0;
};

/// Text from outside, fit for one line of a message: in quotes, without_controls (train/utf8.hpp), quotes and
/// backslashes as \xNN too, cut after 100 bytes.
std::string in_quotes(std::string_view text);

/// The folder that a path lies in; "." for a bare name.
std::string folder_of(const std::string& path);

/// A file open for reading; closed when it goes. Throws as `throw_file_error` says.
class input_file {
 public:
  input_file(file_system& files, std::string path);
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;
  ~input_file();

  const std::string& path() const { return path_; }
  file_status status() const;

  /// Fill `out` from `offset`, in bytes. `input_error` if the file ends before: it shrank.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Map the whole file, whose size is `size` > 0. If it is cut short while mapped, reading there ends the
  /// process, with the file and the byte on stderr and exit code 3.
  file_mapping map(std::uint64_t size) const;

 private:
  file_system* files_;
  std::string path_;
  int file_;
};

/// What is at a path, links followed; nothing there is an answer (false), other failures throw.
bool find_status(file_system& files, const std::string& path, file_status& found);

/// The names in a folder, sorted bytewise.
std::vector<std::string> list_folder(file_system& files, const std::string& folder);

/// Make a folder and those above it, each made durable; what exists already is fine.
void make_folders(file_system& files, const std::string& folder);

/// Make durable what was made, renamed and removed in a folder.
void sync_folder(file_system& files, const std::string& folder);

/// Remove a file; where none is, that is fine.
void remove_file(file_system& files, const std::string& path);

/// All of a small file. `input_error` where it is no regular file, or has more than `most` bytes.
std::string read_text(file_system& files, const std::string& path, std::uint64_t most);

}  // namespace napkin
