// Which bytes are letters, and what of a text a terminal is shown.
#include "napkin/train/utf8.hpp"

#include <catch2/catch.hpp>

namespace nk = napkin;

TEST_CASE("utf8: the length of a letter, and what is none") {
  for (const char* letter : {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                             "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(nk::length_of_letter(letter) == std::string_view(letter).size());
    CHECK(nk::is_utf8(letter));
  }
  CHECK(nk::length_of_letter(std::string_view("\0", 1)) == 1);
  CHECK(nk::length_of_letter("") == 0);
  CHECK(nk::is_utf8(""));
  for (const char* other :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xef\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    CHECK(nk::length_of_letter(other) == 0);
    CHECK_FALSE(nk::is_utf8("a" + std::string(other)));
  }
}

TEST_CASE("utf8: control characters, and bytes that are no text, are spelled") {
  CHECK(nk::without_controls("caf\xc3\xa9 \\ \"\xc2\xa0\xf0\x9f\x98\x80") ==
        "caf\xc3\xa9 \\ \"\xc2\xa0\xf0\x9f\x98\x80");
  CHECK(nk::without_controls("\t\n\x1b[31m\x7f") == R"(\x09\x0a\x1b[31m\x7f)");
  CHECK(nk::without_controls(std::string_view("\0", 1)) == R"(\x00)");
  CHECK(nk::without_controls("\xc2\x80 \xc2\x9f") == R"(\xc2\x80 \xc2\x9f)");
  CHECK(nk::without_controls("\x9b\xe2\x82") == R"(\x9b\xe2\x82)");
}
