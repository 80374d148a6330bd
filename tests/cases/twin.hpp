// The nearest valid twin of a call that must not compile: the fewest edits of its words, sizes and arguments
// that the library's parser, run here, takes. That the twin compiles is then the compiler's to say.
#pragma once

#include <algorithm>
#include <functional>
#include <napkin/pattern/bind.hpp>
#include <optional>
#include <string>
#include <vector>

#include "call.hpp"

namespace cases {

namespace detail {

/// The library's own verdict, at run time, with the axes named as operand_types() names them.
inline bool binds(const call& c) {
  namespace np = napkin::pattern;
  const auto names = names_of(c);
  std::vector<std::vector<std::string>> spelled(names.size());
  std::vector<std::vector<np::axis_view>> axes(names.size());
  std::vector<np::operand_view> operands;
  for (std::size_t k = 0; k < names.size(); ++k) {
    for (const axis_name& n : names[k]) spelled[k].push_back(n.spelled());
    for (std::size_t i = 0; i < names[k].size(); ++i) {
      if ((c.reduction == "max" || c.reduction == "min") && c.shapes[k][i] == 0) return false;  // of nothing
      axes[k].push_back({spelled[k][i], c.shapes[k][i], {}});
    }
  }
  for (const auto& a : axes) operands.emplace_back(a);
  std::vector<np::given_size> given;
  for (const auto& [name, size] : c.given) {
    if (!is_name(name)) return false;
    given.push_back({name, size});
  }
  if (c.op == "einsum") return !operands.empty() && !np::bind_einsum(c.pattern, operands, {}, given).why;
  if (c.op == "pack") return !operands.empty() && !np::bind_pack(c.pattern, operands).value.why;
  if (operands.size() != 1) return false;
  if (c.op == "reduce") return !np::bind_reduce(c.pattern, operands[0], given).why;
  if (c.op == "repeat") return !np::bind_repeat(c.pattern, operands[0], given).why;
  return !np::bind_rearrange(c.pattern, operands[0], given).why;
}

/// A word without what makes it no name.
inline std::string cleaned(const std::string& word) {
  std::string out;
  for (const char c : word)
    if (is_name("a" + std::string(1, c))) out += c;
  while (!out.empty() && (out.front() == '_' || std::isdigit(static_cast<unsigned char>(out.front())) != 0))
    out.erase(out.begin());
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

using visitor = std::function<bool(const call&)>;  // true: found

inline bool edit_words(const call& c, const visitor& take) {
  const std::vector<std::string> words = words_of(c.pattern);
  std::vector<std::string> vocabulary;
  for (const std::string& w : words)
    if (const std::string name = cleaned(w);
        !name.empty() && std::find(vocabulary.begin(), vocabulary.end(), name) == vocabulary.end())
      vocabulary.push_back(name);
  for (const char* w : {"->", "(", ")", "...", "1", "other"}) vocabulary.emplace_back(w);
  if (c.op == "einsum") vocabulary.emplace_back(",");
  if (c.op == "pack") vocabulary.emplace_back("*");

  const auto with = [&](const std::vector<std::string>& changed) {
    call edited = c;
    edited.pattern = text_of(changed);
    return take(edited);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = cleaned(words[i]);
    if (is_name(words[i]) && name == words[i]) continue;
    std::vector<std::string> changed = words;
    changed[i] = name;
    if (!name.empty() && with(changed)) return true;
  }
  for (std::size_t i = words.size(); i-- > 0;) {
    std::vector<std::string> changed = words;
    for (const std::string& w : vocabulary) {
      changed[i] = w;
      if (w != words[i] && with(changed)) return true;
    }
  }
  for (std::size_t i = 0; i <= words.size(); ++i)
    for (const std::string& w : vocabulary) {
      std::vector<std::string> changed = words;
      changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), w);
      if (with(changed)) return true;
    }
  for (std::size_t i = words.size(); i-- > 0;) {
    std::vector<std::string> changed = words;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    if (with(changed)) return true;
  }
  return false;
}

inline bool edit_operands(const call& c, const visitor& take) {
  shape sizes;
  for (const shape& s : c.shapes) sizes.insert(sizes.end(), s.begin(), s.end());
  for (const auto& [name, size] : c.given) sizes.push_back(size);
  for (std::size_t i = 0, n = sizes.size(); i < n; ++i) {
    sizes.push_back(sizes[i] + 1);
    for (std::size_t j = i + 1; j < n; ++j) sizes.push_back(sizes[i] * sizes[j]);
  }
  sizes.push_back(1);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());

  for (std::size_t k = 0; k < c.shapes.size(); ++k) {
    for (std::size_t i = 0; i < c.shapes[k].size(); ++i)
      for (const std::size_t s : sizes) {
        call edited = c;
        edited.shapes[k][i] = s;
        if (take(edited)) return true;
      }
    for (std::size_t i = c.shapes[k].size() + 1; i-- > 0;) {
      call edited = c;
      edited.shapes[k].insert(edited.shapes[k].begin() + static_cast<std::ptrdiff_t>(i), 2);
      if (take(edited)) return true;
    }
    for (std::size_t i = c.shapes[k].size(); i-- > 0;) {
      call edited = c;
      edited.shapes[k].erase(edited.shapes[k].begin() + static_cast<std::ptrdiff_t>(i));
      if (take(edited)) return true;
    }
  }
  if (c.op != "einsum") return false;
  call fewer = c, more = c;
  if (fewer.shapes.size() > 1) {
    fewer.shapes.pop_back();
    if (take(fewer)) return true;
  }
  more.shapes.push_back(c.shapes.empty() ? shape{} : c.shapes.back());
  return take(more);
}

inline bool edit_given(const call& c, const visitor& take) {
  for (std::size_t i = 0; i < c.given.size(); ++i) {
    call edited = c;
    edited.given.erase(edited.given.begin() + static_cast<std::ptrdiff_t>(i));
    if (take(edited)) return true;
    for (const std::size_t size : {1u, 2u, 3u}) {
      edited = c;
      edited.given[i].second = size;
      if (take(edited)) return true;
    }
  }
  for (const std::string& word : words_of(c.pattern))
    for (const std::size_t size : {2u, 3u, 1u}) {
      const auto known = [&](const auto& g) { return g.first == word; };
      if (!is_name(word) || std::any_of(c.given.begin(), c.given.end(), known)) continue;
      call edited = c;
      edited.given.emplace_back(word, size);
      if (take(edited)) return true;
    }
  return false;
}

/// Each label of the size given, or 2; one axis for `...`.
inline call with_fitting_operands(call c) {
  const auto size_of = [&](const std::string& label) -> std::size_t {
    for (const auto& [name, size] : c.given)
      if (name == label) return size;
    return label == "1" ? 1 : 2;
  };
  const sides read = sides_of(c.pattern);
  c.shapes.clear();
  for (const side& s : read.operands) {
    shape sizes;
    for (const written_axis& a : s) {
      sizes.push_back(1);
      for (const std::string& atom : a.atoms) sizes.back() *= size_of(atom);
    }
    c.shapes.push_back(sizes);
  }
  return c;
}

/// The pattern's own names as far as they go, in order, on both sides; of no axis nothing.
inline call with_plain_pattern(call c) {
  for (shape& s : c.shapes) std::replace(s.begin(), s.end(), std::size_t{0}, std::size_t{1});
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& w : words_of(c.pattern)) add(cleaned(w));
  for (char more = 'a'; more <= 'z'; ++more) add(std::string(1, more));
  std::vector<std::string> words, result;
  for (std::size_t k = 0; k < c.shapes.size(); ++k) {
    if (k > 0) words.emplace_back(",");
    for (std::size_t i = 0; i < c.shapes[k].size(); ++i) {
      words.push_back(names[result.size() % names.size()]);
      result.push_back(words.back());
    }
  }
  words.emplace_back("->");
  words.insert(words.end(), result.begin(), result.end());
  c.pattern = text_of(words);
  c.given.clear();
  return c;
}

}  // namespace detail

/// `words_first`: what is wrong is in the text; else in sizes and arguments, which are then edited first.
/// Failing one edit: one of the words and one of the operands, two of the words, operands made to fit the
/// pattern, a plain pattern made to fit the operands, or those where there are none.
inline std::optional<call> nearest_valid(call c, bool words_first) {
  const bool quantifies = c.reduction == "any" || c.reduction == "all";
  if (c.op == "reduce" && !quantifies && c.reduction != "max" && c.reduction != "min") c.reduction = "sum";
  c.dtype = quantifies ? "b8" : "f32";
  std::optional<call> found;
  std::size_t tries = 0;
  const detail::visitor take = [&](const call& edited) {
    ++tries;
    if (detail::binds(edited)) found = edited;
    return found.has_value();
  };
  constexpr std::size_t most_tries = 20'000;
  const auto then_an_operand = [&](const call& once) {
    return tries > most_tries || detail::edit_operands(once, take);
  };
  const auto then_a_word = [&](const call& once) {
    return tries > 2 * most_tries || detail::edit_words(once, take);
  };
  const auto found_by = [&](const auto& search) {
    search();
    return found.has_value();
  };
  using namespace detail;
  const bool near = take(c) || (words_first && edit_words(c, take)) || edit_given(c, take) ||
                    edit_operands(c, take) || (!words_first && edit_words(c, take)) ||
                    found_by([&] { return edit_words(c, then_an_operand); }) ||
                    found_by([&] { return words_first && edit_words(c, then_a_word); });
  if (!near && !take(with_fitting_operands(c)) && !take(with_plain_pattern(c)))
    take(with_plain_pattern(with_fitting_operands(c)));
  return found;
}

}  // namespace cases
