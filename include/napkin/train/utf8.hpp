// Text from outside as UTF-8: whether it is, and a form of it that no terminal obeys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace napkin {

/// Bytes of the UTF-8 sequence that text begins with, 1 to 4; 0 where it begins with none.
///
/// Source  The Unicode Standard 15, table 3-7
std::size_t length_of_letter(std::string_view text);

bool is_utf8(std::string_view text);

/// A byte as \xNN.
std::string escaped(char byte);

/// The text with every byte of a control character (below U+0020, and U+007F to U+009F), and every byte that
/// is no UTF-8, as \xNN: on one line, and nothing that a terminal would obey.
std::string without_controls(std::string_view text);

}  // namespace napkin
