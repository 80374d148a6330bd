// Headers of .npy files: a Python dictionary in text, parsed strictly; and the elements behind them.
#include "napkin/train/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "napkin/core/error.hpp"
#include "napkin/tensor/misfit.hpp"
#include "napkin/train/atomic_file.hpp"
#include "safetensors_header.hpp"

namespace napkin {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_header = 1u << 16;  // bytes; numpy itself reads 10,000
constexpr std::size_t data_alignment = 64;          // bytes
// What numpy leaves behind the first size, so that it may grow in place.
constexpr std::size_t room_of_a_size = 21;

struct header {
  dtype type{};
  bool swapped = false;
  std::vector<std::uint64_t> shape;
  bool fortran_order = false;
};

// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class parser {
 public:
  parser(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  header parse() {
    header h;
    bool type = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(type, true))
        read_type(h);
      else if (key == "fortran_order" && !std::exchange(order, true))
        h.fortran_order = truth();
      else if (key == "shape" && !std::exchange(shape, true))
        h.shape = sizes();
      else
        fail("expected the keys 'descr', 'fortran_order' and 'shape', each once, found " + in_quotes(key));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("expected nothing behind the dictionary, found " + in_quotes(rest()));
    if (!type || !order || !shape)
      fail(std::string("expected the key ") +
           (!type    ? "'descr'"
            : !order ? "'fortran_order'"
                     : "'shape'") +
           ", found none");
    return h;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw input_error(in_quotes(path_) + ": the header: " + what);
  }
  std::string_view rest() const { return text_.substr(at_); }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "', found " + in_quotes(rest()));
  }
  std::string quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string::npos;
    if (end == std::string::npos) fail("expected a text in quotes, found " + in_quotes(rest()));
    const std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  bool truth() {
    skip();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest().starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail("expected True or False, found " + in_quotes(rest()));
  }
  std::vector<std::uint64_t> sizes() {
    std::vector<std::uint64_t> result;
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma) fail("expected ',' or ')', found " + in_quotes(rest()));
      skip();
      std::uint64_t size = 0;
      const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (problem != std::errc{}) fail("expected a size of 64 bits at most, found " + in_quotes(rest()));
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
      result.push_back(size);
      comma = take(',');
    }
    if (result.size() == 1 && !comma) fail("expected a tuple of sizes, found a number in parentheses");
    return result;
  }
  void read_type(header& h) {
    skip();
    if (rest().starts_with('['))
      fail("the elements are records, which no tensor holds: save each field by itself");
    const std::string name = quoted();
    const std::string_view order = std::string_view(name).substr(0, 1),
                           kind = std::string_view(name).substr(order.size());
    for (const dtype type : all_dtypes) {
      const std::string_view known = numpy_name(type);
      if (known.empty() || known.substr(1) != kind) continue;
      if (order == ">" || order == "<" || order == "=" || (order == "|" && size_of(type) == 1)) {
        h.type = type;
        h.swapped = order == ">" && size_of(type) > 1;
        return;
      }
    }
    fail("expected a dtype of napkin's, such as '<f4', found " + in_quotes(name) +
         (kind == "u8"  ? ": there are no unsigned integers of 64 bits; save it as int64"
          : kind == "O" ? ": these are Python's objects; save numbers"
                        : ""));
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string write_header(dtype type, std::span<const std::uint64_t> shape) {
  std::string text = "{'descr': '" + std::string(numpy_name(type)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : " ") + std::to_string(shape[i]) + (i + 1 < shape.size() || i == 0 ? "," : "");
  text += "), }";
  if (!shape.empty()) text += std::string(room_of_a_size - std::to_string(shape[0]).size(), ' ');
  const std::size_t prefix = magic.size() + 4;
  const std::size_t end = (prefix + text.size() + 1 + data_alignment - 1) / data_alignment * data_alignment;
  text += std::string(end - prefix - text.size() - 1, ' ') + '\n';
  // The format's version 1 has two bytes for the length, and what is longer is not read.
  if (text.size() > 0xffff)
    throw error("save_npy: " + std::to_string(shape.size()) + " axes take a header of " +
                std::to_string(text.size()) + " bytes, more than 65535");
  std::string result(magic);
  result += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return result + text;
}

// Elements whose first index runs fastest, put in C order.
void from_fortran(std::byte* to, const std::byte* from, const std::vector<std::uint64_t>& shape,
                  std::size_t width) {
  std::vector<std::size_t> strides, index(shape.size());
  std::size_t count = 1;
  for (const std::uint64_t size : shape) {
    strides.push_back(count * width);
    count *= static_cast<std::size_t>(size);
  }
  std::size_t at = 0;  // bytes
  for (std::size_t n = 0; n < count; ++n, to += width) {
    std::memcpy(to, from + at, width);
    for (std::size_t i = shape.size(); i-- > 0;) {
      at += strides[i];
      if (++index[i] != shape[i]) break;
      at -= strides[i] * index[i];
      index[i] = 0;
    }
  }
}

}  // namespace

npy_file npy_file::open(file_system& files, const std::string& path) {
  npy_file result(input_file(files, path));
  const file_status status = result.file_.status();
  const auto fail = [&](const std::string& what) { throw input_error(in_quotes(path) + ": " + what); };
  if (status.kind != file_kind::regular) fail("is not a regular file");
  std::array<unsigned char, 12> head{};  // magic, version, length of 2 or 4 bytes
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(status.size, head.size()));
  if (there < 10) fail("expected a .npy file, found " + std::to_string(there) + " bytes: it is cut short");
  result.file_.read(0, std::as_writable_bytes(std::span(head)).first(there));
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0)
    fail("expected a .npy file, which begins with \\x93NUMPY, found another one");
  if (head[6] < 1 || head[6] > 3 || head[7] != 0)
    fail("expected version 1.0, 2.0 or 3.0 of the format, found " + std::to_string(head[6]) + "." +
         std::to_string(head[7]));
  const std::size_t prefix = head[6] == 1 ? 10 : 12;
  if (there < prefix) fail("expected a length of 4 bytes, found the end of the file: it is cut short");
  std::uint64_t length = 0;
  for (std::size_t i = prefix; i-- > 8;) length = length << 8 | head[i];
  if (length > longest_header)
    fail("expected a header of at most " + std::to_string(longest_header) + " bytes, found a length of " +
         std::to_string(length) + ": it is damaged");
  if (length > status.size - prefix)
    fail("expected a header of " + std::to_string(length) + " bytes, found " +
         std::to_string(status.size - prefix) + ": it is cut short");
  std::string text(static_cast<std::size_t>(length), '\0');
  result.file_.read(prefix, std::as_writable_bytes(std::span(text)));

  header h = parser(path, text).parse();
  const std::optional<std::uint64_t> bytes = detail::bytes_of(h.type, h.shape);
  result.begin_ = prefix + length;
  const std::string what = std::string(name_of(h.type)) + " of shape " + detail::shape_text(h.shape);
  if (!bytes) fail(what + " exceeds 64 bits of bytes");
  if (*bytes != status.size - result.begin_)
    fail("expected " + std::to_string(*bytes) + " bytes of elements for " + what + ", found " +
         std::to_string(status.size - result.begin_));
  result.type_ = h.type;
  result.swapped_ = h.swapped;
  result.shape_ = std::move(h.shape);
  result.fortran_order_ = h.fortran_order;
  return result;
}

void npy_file::read(std::span<std::byte> out) const {
  const std::size_t width = size_of(type_);
  if (const std::uint64_t bytes = *detail::bytes_of(type_, shape_); out.size() != bytes)
    throw error(in_quotes(path()) + " has " + std::to_string(bytes) +
                " bytes of elements, the room for them " + std::to_string(out.size()));
  if (fortran_order_ && shape_.size() > 1) {
    std::vector<std::byte> stored(out.size());
    file_.read(begin_, stored);
    from_fortran(out.data(), stored.data(), shape_, width);
  } else {
    file_.read(begin_, out);
  }
  const std::size_t number = is_complex(type_) ? width / 2 : width;
  if (swapped_)
    for (std::size_t at = 0; at < out.size(); at += number)
      std::reverse(out.data() + at, out.data() + at + number);
  if (type_ == dtype::b8)
    for (std::size_t i = 0; i < out.size(); ++i)
      if (const auto value = std::to_integer<unsigned>(out[i]); value > 1)
        throw input_error(in_quotes(path()) + ": expected bools of 0 or 1, found " + std::to_string(value) +
                          " as element " + std::to_string(i) + " in C order");
}

std::vector<std::size_t> npy_file::expect(dtype type, std::span<const axis_info> axes) const {
  const std::string problems = detail::misfit(type, axes, type_, shape_, "the file");
  if (!problems.empty()) throw input_error(in_quotes(path()) + ": " + problems);
  return {shape_.begin(), shape_.end()};
}

void save_npy(file_system& files, const std::string& path, dtype type, std::span<const std::uint64_t> shape,
              const void* data) {
  if (numpy_name(type).empty()) throw error("save_npy: numpy has no dtype " + std::string(name_of(type)));
  const std::optional<std::uint64_t> bytes = detail::bytes_of(type, shape);
  if (!bytes) throw error("save_npy: a shape of " + detail::shape_text(shape) + " exceeds 64 bits of bytes");
  const std::string header = write_header(type, shape);
  atomic_file file(files, path, header.size() + *bytes);
  file.write(std::as_bytes(std::span(header)));
  file.write({static_cast<const std::byte*>(data), static_cast<std::size_t>(*bytes)});
  file.seal();
  file.publish();
}

}  // namespace napkin
