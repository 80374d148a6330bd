// A pattern's text read leniently, also where it is wrong: its words, its sides, and from these a name for
// each axis of an operand. The generator's own reading, independent of the library's parser.
#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cases {

using shape = std::vector<std::size_t>;

/// Words, and "->", "...", "(", ")" and "," apart from them.
inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool joined = false;
  for (std::size_t i = 0; i < text.size();) {
    std::string_view mark;
    for (const std::string_view m : {"->", "...", "(", ")", ","})
      if (mark.empty() && text.substr(i, m.size()) == m) mark = m;
    if (!mark.empty()) {
      words.emplace_back(mark);
      i += mark.size();
      joined = false;
    } else if (text[i] == ' ') {
      ++i;
      joined = false;
    } else {
      if (!joined) words.emplace_back();
      words.back() += text[i++];
      joined = true;
    }
  }
  return words;
}

inline std::string text_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) {
    const bool tight = w == "," || w == ")" || text.empty() || text.back() == '(';
    text += (tight ? "" : " ") + w;
  }
  return text;
}

inline bool is_number(const std::string& word) {
  for (const char c : word)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return !word.empty();
}
/// What a C++ axis may be called: letters, digits and underscores; bytes above 127 pass.
inline bool is_name(const std::string& word) {
  for (const char c : word)
    if (static_cast<unsigned char>(c) < 128 && std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_')
      return false;
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
}

/// Whether einops reads this side of a pattern at all. `_` alone is a name in einsum and parse_shape only.
inline bool is_sound_side(std::string_view text, bool lone_underscore) {
  const auto in_word = [&](std::size_t i) {
    return i < text.size() &&
           (static_cast<unsigned char>(text[i]) > 127 || is_name("a" + std::string(1, text[i])));
  };
  for (std::size_t i = text.find("..."); i != text.npos; i = text.find("...", i + 1))
    if (in_word(i - 1) || in_word(i + 3)) return false;
  bool open = false, ellipsis = false;
  for (const std::string& w : words_of(text)) {
    if (w == "(" || w == ")") {
      if (open == (w == "(")) return false;
      open = !open;
    } else if (w == "...") {
      if (open || ellipsis) return false;
      ellipsis = true;
    } else if (is_number(w)) {
      if (w.find_first_not_of('0') == w.npos) return false;
    } else if (!is_name(w) || (w == "_" && !lone_underscore) ||
               (w != "_" && (w.front() == '_' || w.back() == '_'))) {
      return false;
    }
  }
  return !open;
}

struct written_axis {
  std::vector<std::string> atoms;
  bool grouped = false;
  bool ellipsis() const { return !grouped && (atoms[0] == "..." || atoms[0] == "*"); }
};
using side = std::vector<written_axis>;

struct sides {
  std::vector<side> operands{1};
  side result;
  bool has_result = false;
};

inline sides sides_of(std::string_view pattern) {
  sides read;
  bool inside = false;
  for (const std::string& w : words_of(pattern)) {
    side& now = read.has_result ? read.result : read.operands.back();
    if (w == "->") {
      read.has_result = true;
      inside = false;
    } else if (w == "," && !read.has_result) {
      read.operands.emplace_back();
      inside = false;
    } else if (w == "(") {
      now.push_back({{}, true});
      inside = true;
    } else if (w == ")") {
      inside = false;
    } else if (inside) {
      now.back().atoms.push_back(w);
    } else {
      now.push_back({{w}, false});
    }
  }
  return read;
}

/// What an axis of an operand is called; nothing where it is nameless. A name with primes is as many times
/// primed<...> of the axis without.
struct axis_name {
  std::string name;
  int primes = 0;
  std::string spelled() const { return name + std::string(static_cast<std::size_t>(primes), '\''); }
};

/// Names of the operands' axes: the label where one stands there, primed where it stands there again;
/// split_h_w for (h w); rest_0, rest_1, ... under `...`, counted from the right; none for 1, () and numbers.
inline std::vector<std::vector<axis_name>> names_of(std::string_view pattern,
                                                    const std::vector<shape>& shapes) {
  const sides read = sides_of(pattern);
  std::set<std::string> labels;
  for (const std::string& w : words_of(pattern)) labels.insert(w);

  // Of the axes under `...`, those of size 1 that stretch have no name.
  std::map<std::size_t, std::size_t> widest;
  const auto hidden = [&](std::size_t k, std::size_t i) -> std::ptrdiff_t {
    const side& s = read.operands[k];
    std::size_t before = 0;
    while (before < s.size() && !s[before].ellipsis()) ++before;
    if (before == s.size() || s.size() > shapes[k].size() + 1) return -1;
    const std::size_t after = s.size() - before - 1, end = shapes[k].size() - after;
    return i < before || i >= end ? -1 : static_cast<std::ptrdiff_t>(end - 1 - i);
  };
  for (std::size_t k = 0; k < shapes.size() && k < read.operands.size(); ++k)
    for (std::size_t i = 0; i < shapes[k].size(); ++i)
      if (const std::ptrdiff_t at = hidden(k, i); at >= 0) {
        std::size_t& w = widest[static_cast<std::size_t>(at)];
        w = w > shapes[k][i] ? w : shapes[k][i];
      }

  std::vector<std::vector<axis_name>> names(shapes.size());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const side none;
    const side& s = k < read.operands.size() ? read.operands[k] : none;
    bool dots = false;
    for (const written_axis& a : s) dots = dots || a.ellipsis();
    const std::size_t rank = shapes[k].size();
    const bool fits = dots ? s.size() <= rank + 1 : s.size() == rank;
    std::map<std::string, int> used;
    bool passed_dots = false;
    for (std::size_t i = 0, at = 0; i < rank; ++i) {
      axis_name name;
      const std::ptrdiff_t rest = fits && dots ? hidden(k, i) : -1;
      if (rest >= 0) {
        if (shapes[k][i] != 1 || widest[static_cast<std::size_t>(rest)] == 1)
          name.name = "rest_" + std::to_string(rest);
      } else if (fits) {
        if (at < s.size() && s[at].ellipsis() && !passed_dots) {
          passed_dots = true;
          ++at;
        }
        const written_axis& a = s[at++];
        if (a.atoms.size() == 1 && is_name(a.atoms[0])) {
          name.name = a.atoms[0];
        } else if (a.atoms.size() > 1) {
          name.name = "split";
          for (const std::string& atom : a.atoms) name.name += "_" + (is_name("a" + atom) ? atom : "x");
          while (labels.count(name.name) != 0) name.name += "_";
        } else if (a.atoms.size() == 1 && !is_number(a.atoms[0])) {
          name.name = "axis_" + std::to_string(i);
        }
      } else {
        name.name = "axis_" + std::to_string(i);
      }
      if (!name.name.empty()) name.primes = used[name.name]++;
      names[k].push_back(name);
    }
  }
  return names;
}

}  // namespace cases
