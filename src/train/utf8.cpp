// UTF-8 letter by letter.
#include "napkin/train/utf8.hpp"

#include <cstdio>

namespace napkin {

std::size_t length_of_letter(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return at(i) >= low && at(i) <= high;
  };
  const auto follows = [&](std::size_t i) { return within(i, 0x80, 0xbf); };
  const unsigned first = at(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (within(0, 0xc2, 0xdf)) return follows(1) ? 2 : 0;
  if (within(0, 0xe0, 0xef)) {
    const bool second = within(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return second && follows(2) ? 3 : 0;
  }
  if (within(0, 0xf0, 0xf4)) {
    const bool second = within(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = length_of_letter(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string escaped(char byte) {
  char code[8];
  std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return code;
}

std::string without_controls(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = length_of_letter(text);
    const std::string_view letter = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(letter.size());
    const bool is_control = letter.size() == 1 ? letter[0] < ' ' || letter[0] == '\x7f'
                                               : letter >= "\xc2\x80" && letter <= "\xc2\x9f";
    if (length != 0 && !is_control) {
      result += letter;
    } else {
      for (const char byte : letter) result += escaped(byte);
    }
  }
  return result;
}

}  // namespace napkin
