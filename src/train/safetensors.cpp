// Saving and opening: where the header meets the file's length and the checksums.
#include "napkin/train/safetensors.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>

#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"
#include "napkin/train/crc32c.hpp"
#include "safetensors_header.hpp"

namespace napkin {
namespace {

constexpr std::size_t chunk = 1u << 20;  // bytes read at a time

std::string range_text(std::uint64_t begin, std::uint64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
}

std::uint64_t read_length(const input_file& file) {
  std::byte bytes[8];
  file.read(0, bytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return length;
}

// Whether the header's text bears its own checksum; where that is asked for and is not so, it is refused.
bool check_header(const std::string& path, const std::string& text, checksums wanted) {
  const std::size_t digits = detail::find_header_checksum(text);
  if (digits == std::string::npos) {
    if (wanted == checksums::if_present) return false;
    throw input_error(in_quotes(path) +
                      ": expected a checksum (key \"crc32c\" of __metadata__), found none: it is damaged, or "
                      "not written by napkin");
  }
  const std::string expected = text.substr(digits, detail::checksum_digits);
  const std::string found = detail::hexadecimal(detail::header_checksum(text, digits));
  if (expected != found && wanted != checksums::of_tensors)
    throw input_error(in_quotes(path) + ": the header is damaged: expected checksum " + in_quotes(expected) +
                      ", found " + found);
  return expected == found;
}

// The data must be the entries', one after the other from its first byte to its last.
void check_offsets(const std::string& path, const std::vector<tensor_entry>& entries,
                   std::uint64_t data_size) {
  std::uint64_t expected = 0;
  for (const tensor_entry& entry : entries) {
    const auto fail = [&](const std::string& what) {
      throw input_error(in_quotes(path) + ": tensor " + in_quotes(entry.name) + ": " + what);
    };
    const std::string found = "found data_offsets " + range_text(entry.begin, entry.end);
    if (entry.end < entry.begin) fail("expected an end after the beginning, " + found);
    if (entry.end > data_size)
      fail("expected to lie within " + std::to_string(data_size) + " bytes of data, " + found +
           ": the file is cut short or damaged");
    const auto bytes = detail::bytes_of(entry.type, entry.shape);
    const std::string type =
        std::string(safetensors_name(entry.type)) + " of shape " + detail::shape_text(entry.shape);
    if (!bytes) fail(type + " exceeds 64 bits of bytes");
    if (*bytes != entry.bytes())
      fail("expected " + std::to_string(*bytes) + " bytes for " + type + ", " + found);
    if (entry.begin != expected)
      fail("expected data_offsets to begin at " + std::to_string(expected) +
           ", where the tensor before it ends, " + found + ": tensors overlap or leave a hole");
    expected = entry.end;
  }
  if (expected != data_size)
    throw input_error(in_quotes(path) + ": expected " + std::to_string(expected) + " bytes of data, found " +
                      std::to_string(data_size) + ": bytes belong to no tensor");
}

}  // namespace

std::string metadata_text(std::uint64_t number) {
  std::string digits = std::to_string(number);
  return std::string(detail::metadata_digits - digits.size(), '0') + digits;
}

void save_safetensors(file_system& files, const std::string& path, std::span<const tensor_record> tensors,
                      const tensor_metadata& metadata) {
  const std::string header = detail::write_safetensors_header(tensors, metadata);
  std::uint64_t size = header.size();
  for (const tensor_record& tensor : tensors) size += *detail::bytes_of(tensor.type, tensor.shape);

  atomic_file file(files, path, size);
  file.write(std::as_bytes(std::span(header)));
  for (const tensor_record& tensor : tensors)
    file.write({static_cast<const std::byte*>(tensor.data), *detail::bytes_of(tensor.type, tensor.shape)});
  file.seal();
  safetensors_file::open(files, file.temporary_path(), checksums::required).verify();
  file.publish();
}

safetensors_file safetensors_file::open(file_system& files, const std::string& path, checksums wanted) {
  safetensors_file result(input_file(files, path));
  const file_status status = result.file_.status();
  const auto fail = [&](const std::string& what) { throw input_error(in_quotes(path) + ": " + what); };
  if (status.kind != file_kind::regular) fail("is not a regular file");
  if (status.size < 8)
    fail("expected a safetensors file, found " + std::to_string(status.size) +
         " bytes: it is empty or cut short");

  const std::uint64_t length = read_length(result.file_);
  if (length > detail::longest_header)
    fail("expected a header of at most " + std::to_string(detail::longest_header) +
         " bytes, found a length of " + std::to_string(length) + ": it is damaged, or no safetensors file");
  if (length > status.size - 8)
    fail("expected a header of " + std::to_string(length) + " bytes, found " +
         std::to_string(status.size - 8) + ": it is cut short");
  std::string text(length, '\0');
  result.file_.read(8, std::as_writable_bytes(std::span(text)));
  if (!text.starts_with('{'))
    fail("expected a header that begins with {: it is damaged, or no safetensors file");

  result.header_is_intact_ = check_header(path, text, wanted);
  detail::safetensors_header header = detail::parse_safetensors_header(path, text);
  result.entries_ = std::move(header.entries);
  result.metadata_ = std::move(header.metadata);
  result.sort_entries();
  check_offsets(path, result.entries_, status.size - 8 - length);
  for (tensor_entry& entry : result.entries_) {
    entry.begin += 8 + length;
    entry.end += 8 + length;
    if (wanted != checksums::if_present)
      result.text(std::string(detail::tensor_checksum_prefix) + entry.name);
  }
  return result;
}

void safetensors_file::sort_entries() {
  std::sort(entries_.begin(), entries_.end(), [](const tensor_entry& a, const tensor_entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  const auto name = [&](std::size_t i) -> const std::string& { return entries_[i].name; };
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
  for (std::size_t i = 1; i < by_name_.size(); ++i)
    if (name(by_name_[i]) == name(by_name_[i - 1]))
      throw input_error(in_quotes(path()) + ": the header is wrong: tensor " + in_quotes(name(by_name_[i])) +
                        " stands there twice");
}

const std::string& safetensors_file::text(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end())
    throw input_error(in_quotes(path()) + ": expected the key " + in_quotes(key) +
                      " in __metadata__, found none");
  return found->second;
}

std::uint64_t safetensors_file::number(const std::string& key) const {
  const std::string& digits = text(key);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{} || end != digits.data() + digits.size())
    throw input_error(in_quotes(path()) + ": __metadata__, key " + in_quotes(key) +
                      ": expected a whole number, found " + in_quotes(digits));
  return value;
}

const tensor_entry* safetensors_file::find(std::string_view name) const {
  const auto at =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::size_t i, std::string_view wanted) { return entries_[i].name < wanted; });
  return at != by_name_.end() && entries_[*at].name == name ? &entries_[*at] : nullptr;
}

const tensor_entry& safetensors_file::expect(std::string_view name, dtype type,
                                             std::span<const std::uint64_t> shape) const {
  const tensor_entry* entry = find(name);
  const std::string wanted = std::string(safetensors_name(type)) + " of shape " + detail::shape_text(shape);
  if (entry == nullptr)
    throw input_error(in_quotes(path()) + ": expected tensor " + in_quotes(name) + ", " + wanted +
                      ", found none of that name");
  if (entry->type != type ||
      !std::equal(shape.begin(), shape.end(), entry->shape.begin(), entry->shape.end()))
    throw input_error(in_quotes(path()) + ": tensor " + in_quotes(name) + ": expected " + wanted +
                      ", found " + std::string(safetensors_name(entry->type)) + " of shape " +
                      detail::shape_text(entry->shape));
  return *entry;
}

void safetensors_file::read(const tensor_entry& entry, std::span<std::byte> out) const {
  if (out.size() != entry.bytes())
    throw error("tensor " + in_quotes(entry.name) + " has " + std::to_string(entry.bytes()) +
                " bytes, the room given for it " + std::to_string(out.size()));
  file_.read(entry.begin, out);
  check(entry, crc32c(out));
}

std::size_t safetensors_file::verify() const {
  std::vector<std::byte> part(chunk);
  std::size_t checked = 0;
  for (const tensor_entry& entry : entries_) {
    std::uint32_t found = 0;
    for (std::uint64_t at = entry.begin; at < entry.end; at += chunk) {
      const std::span<std::byte> now(part.data(), std::min<std::uint64_t>(chunk, entry.end - at));
      file_.read(at, now);
      found = crc32c(now, found);
    }
    check(entry, found);
    checked += metadata_.contains(std::string(detail::tensor_checksum_prefix) + entry.name);
  }
  return checked;
}

void safetensors_file::check(const tensor_entry& entry, std::uint32_t found) const {
  const auto expected = metadata_.find(std::string(detail::tensor_checksum_prefix) + entry.name);
  if (expected == metadata_.end() || expected->second == detail::hexadecimal(found)) return;
  throw input_error(in_quotes(path()) + ": tensor " + in_quotes(entry.name) +
                    " is damaged: expected checksum " + in_quotes(expected->second) + ", found " +
                    detail::hexadecimal(found));
}

}  // namespace napkin
