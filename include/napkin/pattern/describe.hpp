// A mistake in words: sentence() with the names and sizes put in. For run-time messages, tests, and
// compilers that take a computed static_assert message.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "error.hpp"

namespace napkin::pattern {

/// Text of bounded length; what does not fit is cut.
class message {
 public:
  constexpr std::string_view view() const { return {text_.data(), size_}; }
  constexpr const char* data() const { return text_.data(); }
  constexpr std::size_t size() const { return size_; }

  constexpr message& put(std::string_view s) {
    for (std::size_t i = 0; i < s.size() && size_ < text_.size(); ++i) text_[size_++] = s[i];
    return *this;
  }
  constexpr message& put(std::size_t n) {
    std::array<char, 20> digits{};
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n > 0);
    while (count > 0) put(std::string_view(&digits[--count], 1));
    return *this;
  }

 private:
  std::array<char, 480> text_{};
  std::size_t size_ = 0;
};

/// For example: rearrange "(h d) -> h d", column 0: axis (h d) of size 10 does not divide by 3 (h)
constexpr message describe(std::string_view operation, std::string_view pattern, const error& e) {
  message out;
  out.put(operation).put(" \"").put(pattern).put("\"");
  if (e.column >= 0) out.put(", column ").put(static_cast<std::size_t>(e.column));
  out.put(": ");
  const std::string_view text = sentence(e.why);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '<' ? text.find('>', i) : text.npos;
    if (end == text.npos) {
      out.put(text.substr(i, 1));
      continue;
    }
    const std::string_view field = text.substr(i + 1, end - i - 1);
    if (field == "name") out.put(e.name);
    if (field == "other") out.put(e.other.empty() ? "without a name" : e.other);
    if (field == "size") out.put(e.size);
    if (field == "other_size") out.put(e.other_size);
    if (field == "operand") out.put(static_cast<std::size_t>(e.operand < 0 ? 0 : e.operand));
    i = end;
  }
  if (!e.suggestion.empty()) out.put("; did you mean ").put(e.suggestion).put("?");
  return out;
}

}  // namespace napkin::pattern
