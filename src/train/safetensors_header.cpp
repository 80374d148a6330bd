// The JSON of a safetensors header, written and parsed. The parser takes only the shape that the format
// allows, event by event, so that nothing else is ever built in memory.
#include "safetensors_header.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/train/crc32c.hpp"
#include "napkin/train/utf8.hpp"

namespace napkin::detail {
namespace {

constexpr std::size_t highest_rank = 32;
constexpr std::string_view metadata_key = "__metadata__";

std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 0xffu);
  return bytes;
}

class header_events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  header_events(const std::string& path, safetensors_header& header) : path_(path), header_(header) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const std::string& text) override { return unexpected("the number " + text); }
  bool binary(binary_t&) override { return unexpected("bytes"); }
  bool string(std::string& text) override {
    if (place_ == place::metadata_value) {
      if (!header_.metadata.emplace(key_, std::move(text)).second) fail(where() + " stands there twice");
      place_ = place::metadata;
    } else if (place_ == place::dtype) {
      set_dtype(text);
      place_ = place::tensor;
    } else {
      return unexpected("the text " + in_quotes(text));
    }
    return true;
  }
  bool number_unsigned(std::uint64_t number) override {
    if (place_ == place::shape) {
      if (entry_.shape.size() == highest_rank)
        fail(where() + " has more than " + std::to_string(highest_rank) + " axes");
      entry_.shape.push_back(number);
    } else if (place_ == place::offsets) {
      if (offsets_ == 2) fail(where() + ": expected 2 offsets, found more");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = number;
    } else {
      return unexpected("the number " + std::to_string(number));
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (place_ == place::before) {
      place_ = place::root;
    } else if (place_ == place::root_value && tensor_ == metadata_key) {
      if (std::exchange(had_metadata_, true)) fail("the key \"__metadata__\" stands there twice");
      place_ = place::metadata;
    } else if (place_ == place::root_value) {
      entry_ = {};
      entry_.name = tensor_;
      had_dtype_ = had_shape_ = had_offsets_ = false;
      place_ = place::tensor;
    } else {
      return unexpected("an object");
    }
    return true;
  }
  bool key(std::string& text) override {
    key_ = text;
    switch (place_) {
      case place::root:
        tensor_ = text;
        key_.clear();
        place_ = place::root_value;
        break;
      case place::metadata:
        place_ = place::metadata_value;
        break;
      default:
        if (text == "dtype")
          take(had_dtype_, place::dtype);
        else if (text == "shape")
          take(had_shape_, place::shape_value);
        else if (text == "data_offsets")
          take(had_offsets_, place::offsets_value);
        else
          fail(where() + " is not known; expected dtype, shape or data_offsets");
    }
    return true;
  }
  bool end_object() override {
    key_.clear();
    if (place_ == place::tensor) {
      if (!had_dtype_) fail(where() + " has no dtype");
      if (!had_shape_) fail(where() + " has no shape");
      if (!had_offsets_) fail(where() + " has no data_offsets");
      header_.entries.push_back(std::move(entry_));
    }
    place_ = place_ == place::root ? place::after : place::root;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ == place::shape_value) {
      place_ = place::shape;
    } else if (place_ == place::offsets_value) {
      offsets_ = 0;
      place_ = place::offsets;
    } else {
      return unexpected("a list");
    }
    return true;
  }
  bool end_array() override {
    if (place_ == place::offsets && offsets_ != 2)
      fail(where() + ": expected 2 offsets, found " + std::to_string(offsets_));
    place_ = place::tensor;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("is not JSON at byte " + std::to_string(position) + ": it is damaged, or no safetensors file");
  }

 private:
  enum class place {
    before,
    root,
    root_value,
    metadata,
    metadata_value,
    tensor,
    dtype,
    shape_value,
    shape,
    offsets_value,
    offsets,
    after
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw input_error(in_quotes(path_) + ": the header " + (what.starts_with("is ") ? "" : "is wrong: ") +
                      what);
  }
  std::string where() const {
    std::string text = "tensor " + in_quotes(tensor_);
    if (tensor_ == metadata_key) text = "__metadata__";
    if (!key_.empty()) text += ", key " + in_quotes(key_);
    return text;
  }
  bool unexpected(const std::string& found) const {
    switch (place_) {
      case place::before:
        fail("expected an object, found " + found);
      case place::root_value:
        fail(where() + ": expected an object, found " + found);
      case place::metadata_value:
      case place::dtype:
        fail(where() + ": expected text, found " + found);
      case place::shape_value:
      case place::offsets_value:
        fail(where() + ": expected a list, found " + found);
      case place::shape:
      case place::offsets:
        fail(where() + ": expected whole numbers below 2^64, found " + found);
      default:
        fail("found " + found + " out of place");
    }
  }
  void take(bool& had, place next) {
    if (std::exchange(had, true)) fail(where() + " stands there twice");
    place_ = next;
  }
  void set_dtype(const std::string& text) {
    std::string names;
    for (const dtype candidate : all_dtypes) {
      const std::string_view name = safetensors_name(candidate);
      if (name.empty()) continue;
      if (name == text) {
        entry_.type = candidate;
        return;
      }
      names += " " + std::string(name);
    }
    fail(where() + ": found " + in_quotes(text) + ", expected one of" + names);
  }

  const std::string& path_;
  safetensors_header& header_;
  place place_ = place::before;
  std::string tensor_;  // the key in the root
  std::string key_;     // the key below it, empty outside
  tensor_entry entry_;
  int offsets_ = 0;
  bool had_metadata_ = false;
  bool had_dtype_ = false;
  bool had_shape_ = false;
  bool had_offsets_ = false;
};

}  // namespace

safetensors_header parse_safetensors_header(const std::string& path, std::string_view text) {
  safetensors_header header;
  header_events events(path, header);
  // The parser takes a zero byte for the end of its input and would overlook what comes after it.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    throw input_error(in_quotes(path) + ": the header has a zero byte at " + std::to_string(zero) +
                      ": it is damaged, or no safetensors file");
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  return header;
}

std::string write_safetensors_header(std::span<const tensor_record> tensors, tensor_metadata metadata) {
  for (const tensor_record& tensor : tensors) {
    const std::optional<std::uint64_t> bytes = bytes_of(tensor.type, tensor.shape);
    if (!bytes) continue;  // refused below
    const std::span<const std::byte> data(static_cast<const std::byte*>(tensor.data), *bytes);
    metadata[std::string(tensor_checksum_prefix) + tensor.name] = hexadecimal(crc32c(data));
  }
  return spell_safetensors_header(tensors, std::move(metadata));
}

std::string spell_safetensors_header(std::span<const tensor_record> tensors, tensor_metadata metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const tensor_record& tensor : tensors)
    if (!is_utf8(tensor.name)) throw error("the tensor's name " + in_quotes(tensor.name) + " is not UTF-8");
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key)) throw error("the metadata's key " + in_quotes(key) + " is not UTF-8");
    if (!is_utf8(value))
      throw error("the metadata have under the key " + in_quotes(key) +
                  " what is not UTF-8: " + in_quotes(value));
  }
  std::set<std::string> names;
  metadata[std::string(header_checksum_key)] = hexadecimal(0);
  header[std::string(metadata_key)] = nlohmann::ordered_json::object();  // first, whatever comes

  nlohmann::ordered_json::object_t members;
  std::uint64_t offset = 0;
  for (const tensor_record& tensor : tensors) {
    const std::string_view type = safetensors_name(tensor.type);
    if (type.empty()) throw error("safetensors has no dtype for tensor " + in_quotes(tensor.name));
    if (tensor.name == metadata_key || !names.insert(tensor.name).second)
      throw error("two tensors, or a tensor and the metadata, are named " + in_quotes(tensor.name));
    const std::optional<std::uint64_t> bytes = bytes_of(tensor.type, tensor.shape);
    std::uint64_t end = 0;
    if (tensor.shape.size() > highest_rank || !bytes || __builtin_add_overflow(offset, *bytes, &end))
      throw error("tensor " + in_quotes(tensor.name) +
                  " has a shape too large to write: " + shape_text(tensor.shape));
    nlohmann::ordered_json entry;
    entry["dtype"] = type;
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, end};
    // Straight into the list behind an ordered object, whose operator[] would search it each time.
    members.emplace_back(tensor.name, std::move(entry));
    offset = end;
  }
  header[std::string(metadata_key)] = metadata;
  auto& all = header.get_ref<nlohmann::ordered_json::object_t&>();
  for (auto& member : members) all.emplace_back(std::move(member));

  std::string text = header.dump();
  while ((8 + text.size()) % data_alignment != 0) text += ' ';
  if (text.size() > longest_header)
    throw error("the header of the tensors' names exceeds " + std::to_string(longest_header) + " bytes");

  const std::size_t digits = find_header_checksum(text);
  const std::string checksum = hexadecimal(header_checksum(text, digits));
  text.replace(digits, checksum.size(), checksum);
  return length_bytes(text.size()) + text;
}

std::string checksum_of_spelling(std::span<const tensor_record> tensors, const tensor_metadata& metadata) {
  const std::string text = spell_safetensors_header(tensors, metadata);
  return text.substr(find_header_checksum(text), checksum_digits);
}

std::optional<std::uint64_t> bytes_of(dtype type, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = size_of(type);
  for (const std::uint64_t extent : shape)
    if (extent == 0) return 0;
  for (const std::uint64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  return bytes;
}

std::size_t find_header_checksum(std::string_view text) {
  // Within a name or a value a quote is escaped, so this can only be the key itself, or the end of a name
  // that has a quote.
  const std::string key = "\"" + std::string(header_checksum_key) + "\":\"";
  std::size_t at = text.find(key);
  while (at != std::string_view::npos && at > 0 && text[at - 1] == '\\') at = text.find(key, at + 1);
  if (at == std::string_view::npos || text.size() - at < key.size() + checksum_digits)
    return std::string_view::npos;
  return at + key.size();
}

std::uint32_t header_checksum(std::string text, std::size_t digits) {
  text.replace(digits, checksum_digits, checksum_digits, '0');
  const std::string length = length_bytes(text.size());
  return crc32c(std::as_bytes(std::span(text)), crc32c(std::as_bytes(std::span(length))));
}

std::string hexadecimal(std::uint32_t number) {
  char text[checksum_digits + 1];
  std::snprintf(text, sizeof text, "%0*x", static_cast<int>(checksum_digits), static_cast<unsigned>(number));
  return text;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace napkin::detail
