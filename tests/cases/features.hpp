// By which feature of a row this library does otherwise than the peers: what choices.json has an entry of. Read
// off the row and its text, never off its id, nor off what the library says of it.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "evaluate.hpp"
#include "twin.hpp"

namespace cases {

/// The features' names in choices.json, and whether this library takes what has them.
namespace feature {
inline const std::string stretched = "a named axis of size 1 against another size",
                         summed_ellipsis = "contested: axes of an ellipsis that the result leaves out",
                         composed = "composed and unit axes in an einsum",
                         no_truths = "any and all of what is no truth value",
                         complex = "complex numbers that are computed with",
                         parsed_text = "parse_shape of a text that is no pattern",
                         parsed_rank = "parse_shape of another number of axes",
                         parsed_twice = "parse_shape of an axis twice",
                         parsed_number = "parse_shape of a number against another size",
                         parsed_group = "parse_shape of a composed axis";

inline const std::map<std::string, bool> accepted{
    {stretched, false},     {summed_ellipsis, false}, {composed, true},     {no_truths, false},
    {complex, false},       {parsed_text, false},     {parsed_rank, false}, {parsed_twice, false},
    {parsed_number, false}, {parsed_group, false}};
}  // namespace feature

namespace detail {

inline bool stretches_a_label(const call& c) {
  if (c.op != "einsum") return false;
  const auto names = names_of(c);
  std::map<std::string, std::set<std::size_t>> sizes;
  for (std::size_t k = 0; k < names.size(); ++k)
    for (std::size_t i = 0; i < names[k].size(); ++i) sizes[names[k][i].name].insert(c.shapes[k][i]);
  sizes.erase("");
  for (const auto& [name, s] : sizes)
    if (s.size() > 1 && s.count(1) != 0) return true;
  return false;
}
inline bool composes(const call& c) {
  if (c.op != "einsum") return false;
  for (const std::string& w : words_of(c.pattern))
    if (w == "(" || is_number(w)) return true;
  return false;
}
/// An operand has `...`, the result is written and has none.
inline bool leaves_out_ellipsis(const call& c) {
  const sides read = sides_of(c.pattern);
  const auto has = [](const side& s) {
    for (const written_axis& a : s)
      for (const std::string& atom : a.atoms)
        if (atom == "...") return true;
    return false;
  };
  bool present = false;
  for (const side& s : read.operands) present = present || has(s);
  return c.op == "einsum" && read.has_result && present && !has(read.result);
}

/// What is wrong with a parse_shape, in the order in which the library would say it.
inline std::string feature_of_parse_shape(const call& c) {
  if (!is_sound_side(c.pattern, true)) return feature::parsed_text;
  const side s = sides_of(c.pattern).operands[0];
  const shape& sizes = c.shapes[0];
  std::size_t dots = s.size();
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s[i].ellipsis()) dots = i;
  const std::size_t written = s.size() - (dots < s.size() ? 1 : 0);
  if (dots < s.size() ? written > sizes.size() : written != sizes.size()) return feature::parsed_rank;
  std::set<std::string> seen;
  bool composed = false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (i == dots) continue;
    std::size_t names = 0, number = 1;
    for (const std::string& atom : s[i].atoms) {
      if (is_number(atom))
        number *= std::stoull(atom);
      else if (++names, atom != "_" && !seen.insert(atom).second)
        return feature::parsed_twice;
    }
    const std::size_t size = sizes[i < dots ? i : sizes.size() - (s.size() - i)];
    if (names == 0 && number != size) return feature::parsed_number;
    composed = composed || names > 1;
  }
  return composed ? feature::parsed_group : "";
}

}  // namespace detail

/// parse_shape as this library says it, reduce<"pattern ->", "sum">: the left side of a reduce takes what
/// parse_shape takes, save `_`, which becomes a name of its own.
inline call parse_shape_as_reduce(call c) {
  std::vector<std::string> words = words_of(c.pattern);
  std::size_t skipped = 0;
  for (std::string& w : words)
    if (w == "_") w = "skipped" + std::to_string(skipped++);
  c.pattern = (skipped > 0 ? text_of(words) : c.pattern) + " ->";
  c.op = "reduce";
  c.reduction = "sum";
  return c;
}

/// The feature's name in choices.json, or nothing.
inline std::string feature_of(const nlohmann::json& row, const call& c) {
  const bool valid = row.value("ok", true);
  if (c.op == "parse_shape") {
    if (valid) throw std::runtime_error("of parse_shape only rows that must be refused have a form");
    return detail::feature_of_parse_shape(c);
  }
  static const std::set<std::string> reductions{"sum", "mean", "max", "min", "prod", "logsumexp"};
  const bool quantifies = c.reduction == "any" || c.reduction == "all";
  const bool computes = c.op == "einsum" || reductions.count(c.reduction) != 0;
  if (quantifies && c.dtype != "b8" && detail::binds(c)) return feature::no_truths;
  if (computes && (c.dtype == "c64" || c.dtype == "c128") && detail::binds(c)) return feature::complex;
  if (row.value("contested", false) && detail::leaves_out_ellipsis(c)) return feature::summed_ellipsis;
  if (valid && detail::stretches_a_label(c)) return feature::stretched;
  if (row.value("contested", false)) throw std::runtime_error("contested, by no feature of choices.json");
  if (!valid && detail::composes(c) && evaluate_einsum(c)) return feature::composed;
  return "";
}

}  // namespace cases
