// Files of named tensors in the safetensors format, which other tools read and write: what a checkpoint is
// made of. Stricter than the format: checksums of the header and of every tensor, a header of 16 MiB at
// most, data that begins at a multiple of 64 bytes. What a model or an optimizer is, is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "napkin/core/dtype.hpp"
#include "napkin/train/file_system.hpp"

namespace napkin {

namespace detail {
inline constexpr std::size_t data_alignment = 64;  // bytes
inline constexpr std::string_view header_checksum_key = "crc32c";
inline constexpr std::string_view tensor_checksum_prefix = "crc32c.";
inline constexpr std::size_t checksum_digits = 8, metadata_digits = 20;
}  // namespace detail

/// A tensor to be written: `data` points to the elements in C order, little-endian.
struct tensor_record {
  std::string name;
  dtype type;
  std::vector<std::uint64_t> shape;
  const void* data;
};

using tensor_metadata = std::map<std::string, std::string>;

/// A number as the metadata holds it: 20 digits, so that no size depends on its value.
std::string metadata_text(std::uint64_t number);

/// Write a file that appears whole or not at all. Tensors lie in the order given, one directly after the
/// other as the format demands, so each is aligned to 64 bytes if the sizes before it are multiples of 64.
/// Checksums (CRC-32C, 8 hexadecimal digits) are added to the metadata as `crc32c.<tensor>` and `crc32c`;
/// the latter is of the 8 length bytes and the whole header, with its own digits as zeros. What was written
/// is read back and compared before it takes its place.
///
/// Errors    `error` for records that make no file (a name twice, `__metadata__`, text that is not UTF-8,
///           a dtype without a name in the format), else as `atomic_file`.
/// Source    github.com/huggingface/safetensors, README, "Format"
void save_safetensors(file_system& files, const std::string& path, std::span<const tensor_record> tensors,
                      const tensor_metadata& metadata);

/// A tensor in a file; its bytes lie at [begin, end) of the file.
struct tensor_entry {
  std::string name;
  dtype type{};
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t bytes() const { return end - begin; }
};

/// What a file must carry: those of other tools have no checksums, our own always do. A tool that reads one
/// of ours and writes it back keeps the metadata and orders the header anew: `of_tensors` lets that pass.
enum class checksums { if_present, required, of_tensors };

/// An open file whose header was found sound: every size, offset and dtype was checked against the file's
/// length before anything of that size was allocated. Every defect is one `input_error` line that names the
/// file, the key, what was expected and what was found.
class safetensors_file {
 public:
  static safetensors_file open(file_system& files, const std::string& path,
                               checksums wanted = checksums::if_present);

  const std::string& path() const { return file_.path(); }
  const std::vector<tensor_entry>& entries() const { return entries_; }  // in the order of their data
  const tensor_metadata& metadata() const { return metadata_; }

  /// Whether the header bears a checksum, and it is the header's.
  bool header_is_intact() const { return header_is_intact_; }

  /// The text, or the number of `metadata_text`, under a key; `input_error` if it is not there.
  const std::string& text(const std::string& key) const;
  std::uint64_t number(const std::string& key) const;

  /// Null if there is none of that name.
  const tensor_entry* find(std::string_view name) const;

  /// `input_error` if there is none of that name, or it has another dtype or shape.
  const tensor_entry& expect(std::string_view name, dtype type, std::span<const std::uint64_t> shape) const;

  /// Read a tensor's bytes into `out`, of that very size, and check them if they have a checksum.
  void read(const tensor_entry& entry, std::span<std::byte> out) const;

  /// Check every tensor against its checksum, reading a MiB at a time. The number that had one.
  std::size_t verify() const;

 private:
  explicit safetensors_file(input_file file) : file_(std::move(file)) {}
  void sort_entries();  // and index them; a name that stands there twice is refused
  void check(const tensor_entry& entry, std::uint32_t found) const;

  input_file file_;
  std::vector<tensor_entry> entries_;
  std::vector<std::size_t> by_name_;  // indices into entries_, sorted by name
  tensor_metadata metadata_;
  bool header_is_intact_ = false;
};

}  // namespace napkin
