// Opening, and writing until all is written.
#include "napkin/train/appended_file.hpp"

#include <cerrno>
#include <utility>

#include "napkin/core/error.hpp"

namespace napkin {

appended_file::appended_file(file_system& files, std::string path, int file)
    : files_(&files), path_(std::move(path)), file_(file) {}

appended_file::appended_file(file_system& files, std::string path)
    : appended_file(files, path, files.open_for_appending(path)) {
  if (file_ < 0) throw_file_error("open for appending", path_, -file_);
  if (status().kind != file_kind::regular) throw input_error(in_quotes(path_) + " is not a regular file");
}

appended_file appended_file::make_new(file_system& files, const std::string& path) {
  constexpr int attempts = 1000;
  int result = -EEXIST;
  std::string name = path;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    result = files.create_exclusively(name);
    if (result != -EEXIST && result != -EINTR) break;
    name = path + "." + std::to_string(attempt);
  }
  if (result < 0) throw_file_error("create", name, -result);
  return {files, std::move(name), result};
}

appended_file::appended_file(appended_file&& other) noexcept
    : files_(other.files_), path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

appended_file::~appended_file() {
  if (file_ >= 0) files_->close(file_);
}

file_status appended_file::status() const {
  file_status found;
  const int result = files_->status(file_, found);
  if (result < 0) throw_file_error("examine", path_, -result);
  return found;
}

void appended_file::append(std::span<const std::byte> record) {
  interruptions interrupted;
  while (!record.empty()) {
    const std::int64_t written = files_->write(file_, record.data(), record.size());
    if (interrupted.again(written)) continue;
    if (written < 0) throw_file_error("write", path_, static_cast<int>(-written));
    if (written == 0) throw_file_error("write", path_, EIO);  // else this would turn for ever
    record = record.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace napkin
