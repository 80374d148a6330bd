// By which feature of a row this library does otherwise than the peers: what choices.json has an entry of. Read
// off the row and its text, never off its id; a dtype is at fault only where the library's parser takes the pattern.
#pragma once

#include <algorithm>
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
                         grouped_ellipsis = "'(...)' in an operand of an einsum",
                         composed = "composed and unit axes in an einsum",
                         no_result = "an einsum without a result",
                         given = "sizes of labels given to an einsum", primes = "primes in names",
                         one_character = "'…', the one character, for any number of axes",
                         logsumexp = "logsumexp as a reduction",
                         truths = "max, min and einsum of truth values",
                         no_truths = "any and all of what is no truth value",
                         complex = "complex numbers that are computed with",
                         parsed_text = "parse_shape of a text that is no pattern",
                         parsed_rank = "parse_shape of another number of axes",
                         parsed_twice = "parse_shape of an axis twice",
                         parsed_number = "parse_shape of a number against another size",
                         parsed_group = "parse_shape of a composed axis";

inline const std::map<std::string, bool> accepted{
    {stretched, false},     {summed_ellipsis, false}, {grouped_ellipsis, false},
    {composed, true},       {no_result, true},        {given, true},
    {primes, true},         {one_character, true},    {logsumexp, true},
    {truths, false},        {no_truths, false},       {complex, false},
    {parsed_text, false},   {parsed_rank, false},     {parsed_twice, false},
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
inline bool has_ellipsis(const side& s, bool grouped) {
  for (const written_axis& a : s)
    for (const std::string& atom : a.atoms)
      if (atom == "..." && (a.grouped || !grouped)) return true;
  return false;
}
inline bool groups_ellipsis(const call& c) {
  bool found = false;
  for (const side& s : sides_of(c.pattern).operands) found = found || has_ellipsis(s, true);
  return c.op == "einsum" && found;
}
/// An operand has `...`, the result is written and has none.
inline bool leaves_out_ellipsis(const call& c) {
  const sides read = sides_of(c.pattern);
  bool present = false;
  for (const side& s : read.operands) present = present || has_ellipsis(s, false);
  return c.op == "einsum" && read.has_result && present && !has_ellipsis(read.result, false);
}

/// What the peers refuse in a call that this library takes, if it fits its operands.
inline std::string feature_beyond_peers(const call& c) {
  const std::vector<std::string> words = words_of(c.pattern);
  const auto has = [&](const auto& what) { return std::any_of(words.begin(), words.end(), what); };
  if (has([](const std::string& w) { return without_primes(w).second > 0; })) return feature::primes;
  if (c.pattern.find(one_character_ellipsis) != c.pattern.npos) return feature::one_character;
  if (c.op == "reduce" && c.reduction == "logsumexp") return feature::logsumexp;
  if (c.op != "einsum") return "";
  if (!c.given.empty()) return feature::given;
  if (!has([](const std::string& w) { return w == "->"; })) return feature::no_result;
  if (has([](const std::string& w) { return w == "(" || is_number(w); })) return feature::composed;
  return "";
}

/// What is wrong with a parse_shape, in the order in which the library would say it.
inline std::string feature_of_parse_shape(const call& c) {
  if (!is_sound_side(c.pattern, {true, false, false})) return feature::parsed_text;
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
  static const std::set<std::string> reductions{"sum", "mean", "max", "min", "prod", "logsumexp"};
  const bool valid = row.value("ok", true), contested = row.value("contested", false);
  if (c.op == "parse_shape") {
    if (valid) throw std::runtime_error("of parse_shape only rows that must be refused have a form");
    const std::string wrong = detail::feature_of_parse_shape(c);
    return wrong.empty() ? feature_of(row, parse_shape_as_reduce(c)) : wrong;
  }
  if (c.op == "einsum" || c.op == "reduce") {
    const bool quantifies = c.reduction == "any" || c.reduction == "all";
    const bool of_order = c.op == "einsum" || c.reduction == "max" || c.reduction == "min";
    const bool computes = c.op == "einsum" || reductions.count(c.reduction) != 0;
    std::string of_dtype;
    if (quantifies && c.dtype != "b8") of_dtype = feature::no_truths;
    if (of_order && c.dtype == "b8") of_dtype = feature::truths;
    if (computes && (c.dtype == "c64" || c.dtype == "c128")) of_dtype = feature::complex;
    if (!of_dtype.empty() && detail::binds(c)) return of_dtype;  // the pattern is looked at first
  }
  if (!valid) {
    const std::string beyond = detail::feature_beyond_peers(c);
    return !beyond.empty() && evaluate(c) ? beyond : "";
  }
  if (detail::groups_ellipsis(c)) return feature::grouped_ellipsis;
  if (contested && detail::leaves_out_ellipsis(c)) return feature::summed_ellipsis;
  if (detail::stretches_a_label(c)) return feature::stretched;
  if (contested) throw std::runtime_error("contested, by no feature of choices.json");
  return "";
}

}  // namespace cases
