// Telling the formats apart, and reading through the mappings.
#include "napkin/train/token_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "napkin/core/error.hpp"
#include "token_header.hpp"

namespace napkin {
namespace {

using detail::token_header;

constexpr std::uint64_t header_bytes = sizeof(token_header);
constexpr std::size_t most_mapped = 1000;  // a process may have 65,530 mappings on Linux by default

file_status status_of_file(const input_file& file) {
  const file_status status = file.status();
  if (status.kind != file_kind::regular) throw data_error(in_quotes(file.path()) + " is not a regular file");
  return status;
}

token_segment find_behind_header(const input_file& file, token_segment found) {
  const auto fail = [&](const std::string& what) {
    throw data_error(in_quotes(found.path) + " is a token file of llm.c, but " + what);
  };
  if (found.file_size < header_bytes)
    fail("has " + std::to_string(found.file_size) + " of its header's " + std::to_string(header_bytes) +
         " bytes: it is cut short");
  constexpr std::int32_t version = token_header{}.version;
  token_header header;
  file.read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.version != version)
    fail("expected version " + std::to_string(version) + ", found " + std::to_string(header.version));
  const std::uint64_t tokens = (found.file_size - header_bytes) / 2;
  if (header.count < 0 || static_cast<std::uint64_t>(header.count) != tokens || found.file_size % 2 != 0)
    fail("expected " + std::to_string(header.count) + " tokens of 2 bytes by its header, found " +
         std::to_string(found.file_size - header_bytes) + " bytes: it is cut short or damaged");
  found.offset = header_bytes;
  found.count = tokens;
  found.width = 2;
  return found;
}

}  // namespace

token_segment find_bytes(file_system& files, const std::string& path) {
  const file_status status = status_of_file(input_file(files, path));
  return {path, status.size, 0, status.size, 1, status.version};
}

token_segment find_tokens(file_system& files, const std::string& path) {
  const input_file file(files, path);
  const file_status status = status_of_file(file);
  token_segment found{path, status.size, 0, 0, 1, status.version};
  if (found.file_size == 0) throw data_error(in_quotes(path) + " is empty: there is nothing to train on");

  std::int32_t magic = 0;
  if (found.file_size >= sizeof magic) file.read(0, std::as_writable_bytes(std::span(&magic, 1)));
  if (magic == token_header::magic_of_16_bits) {
    found = find_behind_header(file, std::move(found));
    if (found.count == 0) throw data_error(in_quotes(path) + " has no tokens: there is nothing to train on");
    return found;
  }
  if (magic == token_header::magic_of_32_bits)
    throw data_error(in_quotes(path) + " is a token file of llm.c with tokens of 32 bits (magic " +
                     std::to_string(token_header::magic_of_32_bits) + "); only those of 16 bits (magic " +
                     std::to_string(token_header::magic_of_16_bits) + ") can be trained on");
  if (path.ends_with(".bin")) {
    if (found.file_size % 2 != 0)
      throw data_error(
          in_quotes(path) + " is taken for tokens of 2 bytes as its name ends in .bin, but has " +
          std::to_string(found.file_size) + " bytes, an odd number: it is cut short or no token file");
    found.width = 2;
  }
  found.count = found.file_size / found.width;
  return found;
}

token_source::token_source(file_system& files, std::string name, std::vector<token_segment> segments,
                           std::uint64_t vocabulary)
    : files_(&files), name_(std::move(name)), vocabulary_(vocabulary) {
  std::erase_if(segments, [](const token_segment& segment) { return segment.count == 0; });
  segments_ = std::move(segments);
  starts_.reserve(segments_.size() + 1);
  starts_.push_back(0);
  for (const token_segment& segment : segments_) starts_.push_back(starts_.back() + segment.count);
  mappings_.resize(segments_.size());
}

bool token_source::holds_bytes() const {
  return std::all_of(segments_.begin(), segments_.end(), [](const token_segment& s) { return s.width == 1; });
}

const std::byte* token_source::data(std::size_t index) const {
  const token_segment& segment = segments_[index];
  if (!mappings_[index]) {
    const input_file file(*files_, segment.path);
    const file_status status = status_of_file(file);
    const std::uint64_t size = status.size;
    if (size != segment.file_size)
      throw data_error(in_quotes(segment.path) + " had " + std::to_string(segment.file_size) +
                       " bytes and now has " + std::to_string(size) +
                       ": it was changed while in use; start again");
    if (status.version != segment.version)
      throw data_error(in_quotes(segment.path) + " was replaced or written to while in use; start again");
    mappings_[index] = file.map(size);
    if (mapped_.size() < most_mapped) {
      mapped_.push_back(index);
    } else {
      mappings_[std::exchange(mapped_[next_], index)] = {};
      next_ = (next_ + 1) % most_mapped;
    }
  }
  return static_cast<const std::byte*>(mappings_[index].data()) + segment.offset;
}

void token_source::copy(std::uint64_t start, std::size_t count, std::uint16_t* out) const {
  if (start > size() || count > size() - start)
    throw error("tokens " + std::to_string(start) + " to " + std::to_string(start + count) +
                " are beyond the " + std::to_string(size()) + " of " + name_);
  if (count == 0) return;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), start);
  for (auto index = static_cast<std::size_t>(after - starts_.begin()) - 1; count > 0; ++index) {
    const token_segment& segment = segments_[index];
    const std::uint64_t first = start - starts_[index];
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(count, segment.count - first));
    const std::byte* from = data(index) + first * segment.width;
    if (segment.width == 1) {
      for (std::size_t i = 0; i < now; ++i) out[i] = std::to_integer<std::uint16_t>(from[i]);
    } else {
      std::memcpy(out, from, now * 2);
    }
    const std::uint64_t highest = segment.width == 1 ? 0xff : 0xffff;
    for (std::size_t i = 0; highest >= vocabulary_ && i < now; ++i)
      if (out[i] >= vocabulary_)
        throw data_error(in_quotes(segment.path) + ": token " + std::to_string(out[i]) + " at byte " +
                         std::to_string(segment.offset + (first + i) * segment.width) +
                         " is not below the model's vocabulary of " + std::to_string(vocabulary_) +
                         ": take a model with a larger vocabulary, or other data");
    out += now;
    start += now;
    count -= now;
  }
}

token_source token_source::slice(std::uint64_t begin, std::uint64_t end, std::string name) const {
  if (begin > end || end > size()) throw error("a slice beyond the end of " + name_);
  std::vector<token_segment> segments;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::uint64_t from = std::max(begin, starts_[i]);
    const std::uint64_t to = std::min(end, starts_[i + 1]);
    if (from >= to) continue;
    segments.push_back(segments_[i]);
    segments.back().offset += (from - starts_[i]) * segments_[i].width;
    segments.back().count = to - from;
  }
  return token_source(*files_, std::move(name), std::move(segments), vocabulary_);
}

void token_source::require(std::uint64_t count, const std::string& purpose) const {
  if (size() >= count) return;
  throw data_error(name_ + " has " + std::to_string(size()) + " tokens, too few for " + purpose +
                   ", which takes " + std::to_string(count) + ": give more data");
}

void token_source::require_window(std::size_t time) const {
  require(static_cast<std::uint64_t>(time) + 1,
          "a sequence of " + std::to_string(time) + " and the token after it");
}

}  // namespace napkin
