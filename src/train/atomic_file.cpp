// Write beside, sync, rename, sync the folder.
#include "napkin/train/atomic_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "napkin/core/error.hpp"

namespace napkin {
namespace {

std::string temporary_prefix(const std::string& path) { return path + ".tmp."; }

}  // namespace

atomic_file::atomic_file(file_system& files, std::string path, std::uint64_t size)
    : files_(&files), path_(std::move(path)) {
  file_status found;
  if (find_status(files, path_, found) && found.kind != file_kind::regular)
    throw input_error("cannot write " + in_quotes(path_) + ": it is not a regular file; give another name");

  const std::string folder = folder_of(path_);
  const std::int64_t room = files.free_space(folder);
  if (room < 0) throw_file_error("write to the folder", folder, static_cast<int>(-room));
  if (static_cast<std::uint64_t>(room) < size)
    throw system_error("cannot write " + in_quotes(path_) + ": it needs " + std::to_string(size) +
                       " bytes and the disk has " + std::to_string(room) + " free");

  // Process numbers repeat (in containers nearly always), so a leftover may bear ours: take the next name.
  constexpr int attempts = 1000;
  const std::string prefix = temporary_prefix(path_) + std::to_string(::getpid()) + ".";
  int result = -EEXIST;
  for (int attempt = 0; attempt < attempts && (result == -EEXIST || result == -EINTR); ++attempt) {
    temporary_ = prefix + std::to_string(attempt);
    result = files.create_exclusively(temporary_);
  }
  if (result < 0) throw_file_error("create", temporary_, -result);
  file_ = result;
  there_ = true;
  if (size == 0) return;

  interruptions interrupted;
  do result = files.reserve(file_, size);
  while (interrupted.again(result));
  // Not every file system can; there the write itself tells.
  if (result < 0 && result != -EOPNOTSUPP && result != -ENOSYS) {
    discard();
    throw_file_error("take room for " + std::to_string(size) + " bytes of", temporary_, -result);
  }
}

void atomic_file::discard() {
  if (file_ >= 0) files_->close(std::exchange(file_, -1));
  if (there_) files_->remove(temporary_);
  there_ = false;
}

void atomic_file::write(std::span<const std::byte> data) {
  interruptions interrupted;
  while (!data.empty()) {
    const std::int64_t written = files_->write(file_, data.data(), data.size());
    if (interrupted.again(written)) continue;
    if (written < 0) throw_file_error("write", temporary_, written_, static_cast<int>(-written));
    if (written == 0) throw_file_error("write", temporary_, written_, EIO);  // else this would turn for ever
    written_ += static_cast<std::uint64_t>(written);
    data = data.subspan(static_cast<std::size_t>(written));
  }
}

void atomic_file::seal() {
  const int synced = files_->sync(file_);
  if (synced < 0) throw_file_error("sync", temporary_, -synced);
  // The descriptor is gone whatever close says (Linux, close(2)), so it is never closed twice.
  const int closed = files_->close(std::exchange(file_, -1));
  if (closed < 0 && closed != -EINTR) throw_file_error("close", temporary_, -closed);
}

void atomic_file::publish() {
  const int renamed = files_->rename(temporary_, path_);
  if (renamed < 0) throw_file_error("rename a finished file to", path_, -renamed);
  there_ = false;
  sync_folder(*files_, folder_of(path_));
}

void write_atomically(file_system& files, const std::string& path, std::string_view text) {
  atomic_file file(files, path, text.size());
  file.write(std::as_bytes(std::span(text)));
  file.seal();
  file.publish();
}

void remove_temporaries(file_system& files, const std::string& path) {
  const std::string folder = folder_of(path);
  const std::string prefix = temporary_prefix(path);
  const std::size_t slash = prefix.rfind('/');
  const std::string_view wanted =
      slash == std::string::npos ? std::string_view(prefix) : std::string_view(prefix).substr(slash + 1);
  for (const std::string& name : list_folder(files, folder))
    if (name.starts_with(wanted)) remove_file(files, folder + "/" + name);
}

}  // namespace napkin
