// The patterns that most programs write, bound in one walk along the text: every word on the left is the
// very name of its axis, and nothing is composed, numbered or hidden under `...`. A shortcut in time alone:
// the compiler would take five times the steps to the same meaning through binder.hpp, which keeps every
// rule and answers wherever this does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "labels.hpp"
#include "letters.hpp"

namespace napkin::pattern::detail {

/// The label called so, labels.count if there is none.
template <class Meaning>
constexpr std::size_t plain_label(const Meaning& m, const char* p, std::size_t n) {
  std::size_t i = 0;
  for (const std::size_t count = m.labels.count; i < count; ++i) {
    const std::string_view& name = m.labels.items[i].name;
    if (name.size() != n) continue;
    const char* const q = name.data();
    std::size_t left = n;  // from the end, where names of one program differ first
    while (left != 0 && p[left - 1] == q[left - 1]) --left;
    if (left == 0) break;
  }
  return i;
}

/// Fills in m and answers true; or false, and then m means nothing.
template <class Meaning>
constexpr bool bind_plain(form f, std::string_view text, std::span<const operand_view> operands, Meaning& m) {
  const std::size_t operand_count = operands.size();
  const std::size_t most_labels = m.labels.capacity() < max_labels ? m.labels.capacity() : max_labels;
  const std::size_t most_axes = m.result.capacity() < max_axes ? m.result.capacity() : max_axes;
  if (operand_count == 0 || operand_count > max_operands || operand_count > m.operand.capacity() ||
      text.size() > 4096)
    return false;
  const operand_view* const views = operands.data();
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* p = begin;

  m.operand.count = operand_count;
  for (std::size_t k = 0; k < operand_count; ++k) {
    const axis_view* const axes = views[k].data();
    const std::size_t rank = views[k].size();
    if (rank > most_axes) return false;
    const std::size_t known = m.labels.count;
    std::uint64_t here = 0;  // labels of this operand: a bit for each that was known before
    auto& list = m.operand.items[k];
    for (std::size_t i = 0; i < rank; ++i) {
      const axis_view& axis = axes[i];
      const std::size_t n = axis.name.size();
      while (p != end && *p == ' ') ++p;
      if (n == 0 || static_cast<std::size_t>(end - p) <= n) return false;
      const char* const word = p;
      const char* q = axis.name.data();
      for (const char* const stop = p + n; p != stop; ++p, ++q)
        if (*p != *q) return false;
      if (*p != ' ' && *p != ',' && *p != '-') return false;

      const std::size_t id = plain_label(m, word, n);
      if (id == most_labels) return false;
      label& l = m.labels.items[id];
      if (id == m.labels.count) {
        if (!axis.plain && !is_plain_name(word, n)) return false;
        m.labels.count = id + 1;
        l.name = {word, n};
        l.size = axis.size;
        l.operand = static_cast<signed char>(k);
        l.axis = static_cast<signed char>(i);
        l.factor = -1;
        l.column = static_cast<short>(word - begin);
      } else {
        const std::uint64_t bit = std::uint64_t{1} << id;
        if (id >= known || (here & bit) != 0 || l.size != axis.size) return false;
        here |= bit;
      }
      list.items[i].items[0] = static_cast<signed char>(id);
      list.items[i].count = 1;
    }
    list.count = rank;
    while (p != end && *p == ' ') ++p;
    if (k + 1 < operand_count && (p == end || *p++ != ',')) return false;
  }

  if (static_cast<std::size_t>(end - p) < 2 || *p++ != '-' || *p++ != '>') return false;
  std::size_t rank = 0;
  for (;; ++rank) {
    while (p != end && *p == ' ') ++p;
    if (p == end) break;
    const char* const word = p;
    while (p != end && *p != ' ') ++p;
    const std::size_t id = plain_label(m, word, static_cast<std::size_t>(p - word));
    if (id == m.labels.count || m.labels.items[id].in_result || rank == most_axes) return false;
    m.labels.items[id].in_result = true;
    m.result.items[rank].items[0] = static_cast<signed char>(id);
    m.result.items[rank].count = 1;
  }
  m.result.count = rank;
  return f == form::einsum || f == form::reduce || rank == m.labels.count;
}

}  // namespace napkin::pattern::detail
