// Which characters may stand in a name. Beyond ASCII all but those of blocks that hold no letters
// (punctuation, symbols, arrows, combining marks, private use). einops asks Python's tables of letters; these
// ranges are what differs in use.
#pragma once

#include <cstddef>
#include <string_view>

namespace napkin::pattern::detail {

struct code_range {
  char32_t first, last;
};
inline constexpr code_range no_letters[] = {
    {0x80, 0xa9},     {0xab, 0xb4},       {0xb6, 0xb9},       {0xbb, 0xbf},     {0xd7, 0xd7},
    {0xf7, 0xf7},     {0x2c2, 0x2c5},     {0x2d2, 0x2df},     {0x300, 0x36f},   {0x37e, 0x37e},
    {0x387, 0x387},   {0x482, 0x489},     {0x55a, 0x55f},     {0x589, 0x5cf},   {0x600, 0x61f},
    {0x2000, 0x2070}, {0x2072, 0x207e},   {0x2080, 0x208f},   {0x20a0, 0x20ff}, {0x2190, 0x2bff},
    {0x2e00, 0x3004}, {0x3008, 0x3020},   {0x3030, 0x3030},   {0x3200, 0x33ff}, {0xd800, 0xf8ff},
    {0xfe00, 0xfe6f}, {0xfeff, 0xff0f},   {0xff1a, 0xff20},   {0xff3b, 0xff40}, {0xff5b, 0xff65},
    {0xffe0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};

/// Whether all beyond ASCII in a word are letters in well-formed UTF-8.
constexpr bool only_letters(std::string_view word) {
  for (std::size_t i = 0; i < word.size();) {
    const auto lead = static_cast<unsigned char>(word[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4) return false;
    char32_t c = lead & (0x3fu >> more);
    for (int k = 0; k < more; ++k, ++i) {
      if (i == word.size() || (static_cast<unsigned char>(word[i]) & 0xc0u) != 0x80) return false;
      c = c << 6 | (static_cast<unsigned char>(word[i]) & 0x3fu);
    }
    for (const code_range& r : no_letters)
      if (c >= r.first && c <= r.last) return false;
  }
  return true;
}

/// A name as nearly all are; others have rules that the parser knows.
constexpr bool is_plain_name(const char* p, std::size_t n) {
  if (!(*p >= 'a' && *p <= 'z') || p[n - 1] == '_') return false;
  for (const char* const end = p + n; p != end; ++p)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_')) return false;
  return true;
}

}  // namespace napkin::pattern::detail
