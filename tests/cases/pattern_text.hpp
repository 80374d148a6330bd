// A pattern's text read leniently, also where it is wrong: its words, its sides, and from these a name for
// each axis of an operand. The generator's own reading, independent of the library's parser.
#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cases {

using shape = std::vector<std::size_t>;

inline constexpr std::string_view one_character_ellipsis = "\xe2\x80\xa6";

/// Words, and "->", "...", "(", ")" and "," apart from them. The one character is the ellipsis as well.
inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool joined = false;
  for (std::size_t i = 0; i < text.size();) {
    std::string_view mark;
    for (const std::string_view m : {std::string_view("->"), std::string_view("..."), one_character_ellipsis,
                                     std::string_view("("), std::string_view(")"), std::string_view(",")})
      if (mark.empty() && text.substr(i, m.size()) == m) mark = m;
    if (!mark.empty()) {
      words.emplace_back(mark == one_character_ellipsis ? "..." : mark);
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

/// A name with primes, `seq''`: the name, and how many.
inline std::pair<std::string, int> without_primes(const std::string& word) {
  const std::size_t end = word.find_last_not_of('\'') + 1;
  return {word.substr(0, end), static_cast<int>(word.size() - end)};
}

/// What a side of a pattern may have, beside what all of einops's patterns may.
struct dialect {
  bool lone_underscore;   // a name in einsum and parse_shape
  bool primes;            // in this library's language
  bool grouped_ellipsis;  // in a result
};
/// Whether a side is text of the language at all, whatever its operands.
inline bool is_sound_side(std::string_view text, const dialect& d) {
  const auto in_word = [&](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) > 127 || text[i] == '\'' ||
                               is_name("a" + std::string(1, text[i])));
  };
  for (const std::string_view dots : {std::string_view("..."), one_character_ellipsis})
    for (std::size_t i = text.find(dots); i != text.npos; i = text.find(dots, i + 1))
      if (in_word(i - 1) || in_word(i + dots.size())) return false;
  bool open = false, ellipsis = false;
  for (const std::string& w : words_of(text)) {
    const std::string name = d.primes ? without_primes(w).first : w;
    if (w == "(" || w == ")") {
      if (open == (w == "(")) return false;
      open = !open;
    } else if (w == "...") {
      if ((open && !d.grouped_ellipsis) || ellipsis) return false;
      ellipsis = true;
    } else if (is_number(w)) {
      if (w.find_first_not_of('0') == w.npos) return false;
    } else if (!is_name(name) || (w == "_" && !d.lone_underscore) ||
               (w != "_" && (name.front() == '_' || name.back() == '_'))) {
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

/// Names of the operands' axes: the label where one stands there, primed once more where it stands there
/// again; split_h_w for (h w), but none in an einsum, where h may stand nowhere else; rest_0, rest_1, ...
/// under `...`, counted from the right; none for 1, (), numbers and labels that are part of another axis too.
inline std::vector<std::vector<axis_name>> names_of(std::string_view pattern,
                                                    const std::vector<shape>& shapes, bool of_einsum) {
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
    std::set<std::string> parts;
    for (const written_axis& a : s) {
      dots = dots || a.ellipsis();
      if (a.atoms.size() > 1) parts.insert(a.atoms.begin(), a.atoms.end());
    }
    const std::size_t rank = shapes[k].size();
    const bool fits = dots ? s.size() <= rank + 1 : s.size() == rank;
    std::set<std::string> used;
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
        const auto [label, primes] = without_primes(a.atoms.size() == 1 ? a.atoms[0] : "");
        if (is_name(label)) {
          if (parts.count(a.atoms[0]) == 0) name = {label, primes};
        } else if (a.atoms.size() > 1 && !of_einsum) {
          name.name = "split";
          for (const std::string& atom : a.atoms) name.name += "_" + (is_name("a" + atom) ? atom : "x");
          while (labels.count(name.name) != 0) name.name += "_";
        } else if (a.atoms.size() == 1 && !is_number(a.atoms[0])) {
          name.name = "axis_" + std::to_string(i);
        }
      } else {
        name.name = "axis_" + std::to_string(i);
      }
      const int written = name.primes;
      while (!name.name.empty() && ((name.primes > written && labels.count(name.spelled()) != 0) ||
                                    !used.insert(name.spelled()).second))
        ++name.primes;
      names[k].push_back(name);
    }
  }
  return names;
}

}  // namespace cases
