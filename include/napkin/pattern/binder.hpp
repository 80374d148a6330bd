// A pattern bound to its operands, for all four operations: the left side (operands.hpp), the result, and
// what must hold between the two. The doors are in bind.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "operands.hpp"

namespace napkin::pattern::detail {

class binder : operand_binder {
 public:
  constexpr binder(form f, std::string_view text, std::span<const operand_view> operands,
                   std::span<const given_size> given, std::span<const std::string_view> summed)
      : operand_binder(f, text, operands, given), summed_(summed) {}

  constexpr meaning run() {
    ok() && check_call() && bind_operands() && check_given() && solve_groups() && bind_ellipsis() &&
        bind_result() && check_sides() && check_summed() && check_lone_aliases();
    return m_;
  }

 private:
  constexpr bool check_call() {
    if (s_.operands != operands_.size())
      return fail({.why = code::operand_count, .size = s_.operands, .other_size = operands_.size()});
    for (std::size_t i = 0; i < given_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (same(given_[i].name, given_[j].name) && given_[i].size != given_[j].size)
          return fail({.why = code::given_twice,
                       .name = given_[i].name,
                       .size = given_[j].size,
                       .other_size = given_[i].size});
    return true;
  }

  // --- the result

  constexpr bool bind_result() {
    if (!s_.has_result) return imply_result();
    for (std::size_t i = s_.side[s_.operands]; i < s_.side[s_.operands + 1]; ++i) {
      const axis_expression& e = s_.axes.items[i];
      label_ids ids;
      for (std::size_t t = e.first; t < e.last; ++t) {
        const atom& a = s_.atoms.items[t];
        if (unit(a)) continue;
        if (a.kind == atom_kind::ellipsis) {
          if (!bind_ellipsis_of_result(e, ids)) return false;
          continue;
        }
        const signed char id = label_in_result(a);
        if (id < 0 || !append(ids, id, e)) return false;
      }
      const bool bare_ellipsis = !e.grouped && s_.atoms.items[e.first].kind == atom_kind::ellipsis;
      if (!bare_ellipsis && !append_axis(ids)) return false;
    }
    return true;
  }
  constexpr bool append(label_ids& ids, signed char id, const axis_expression& e) {
    if (ids.size() == ids.capacity()) return fail({.why = code::too_long, .column = e.column});
    ids.push_back(id);
    return true;
  }
  constexpr bool append_axis(const label_ids& ids) {
    if (m_.result.size() == max_axes || (apart_ += ids.size()) > max_axes)
      return fail({.why = code::too_long});
    m_.result.push_back(ids);
    return true;
  }
  constexpr bool bind_ellipsis_of_result(const axis_expression& e, label_ids& ids) {
    bool present = false;
    for (const span_of_ellipsis& operand : ellipsis_) present = present || operand.present;
    if (!present && form_ != form::einsum)  // there it stands for no axes
      return fail({.why = code::ellipsis_only_in_result, .column = e.column});
    ellipsis_in_result_ = true;
    for (const signed char id : ellipsis_ids_) {
      m_.labels.items[index(id)].in_result = true;
      if (!(e.grouped ? append(ids, id, e) : append_axis(label_ids(1, id)))) return false;
    }
    return true;
  }
  constexpr signed char label_in_result(const atom& a) {
    const auto column = static_cast<short>(a.column);
    const std::string_view name = s_.view(a);
    if (a.kind == atom_kind::number) {
      if (form_ != form::repeat) {
        fail({.why = code::number_not_allowed, .column = column, .name = name});
        return -1;
      }
      const signed char id = new_label({}, column);
      if (id < 0) return id;
      set_size(id, a.value);
      m_.labels.items[index(id)].in_result = true;
      return id;
    }
    auto id = static_cast<signed char>(label_of_[a.symbol] - 1);
    if (id < 0) {
      if (form_ != form::repeat) {
        fail({.why = code::label_only_in_result,
              .column = column,
              .name = name,
              .suggestion = nearest_label(name)});
        return -1;
      }
      id = new_label(a);
      if (id < 0) return id;
      if (!beside_[index(id)].known) {
        fail({.why = code::new_label_without_size, .column = column, .name = name});
        return -1;
      }
    }
    label& l = m_.labels.items[index(id)];
    if (l.in_result) {
      fail({.why = code::duplicate_label, .column = column, .name = name});
      return -1;
    }
    l.in_result = true;
    return id;
  }

  /// numpy's order: the ellipsis, then the labels that stand once, sorted.
  constexpr bool imply_result() {
    ellipsis_in_result_ = true;
    for (const signed char id : ellipsis_ids_) {
      m_.labels.items[index(id)].in_result = true;
      if (!append_axis(label_ids(1, id))) return false;
    }
    for (;;) {
      int next = -1;
      for (std::size_t i = 0; i < m_.labels.size(); ++i) {
        const label& l = m_.labels.items[i];
        if (l.from_ellipsis || l.in_result || beside_[i].repeated) continue;
        if (next < 0 || before(l.name, m_.labels.items[static_cast<std::size_t>(next)].name))
          next = static_cast<int>(i);
      }
      if (next < 0) return true;
      m_.labels.items[static_cast<std::size_t>(next)].in_result = true;
      if (!append_axis(label_ids(1, static_cast<signed char>(next)))) return false;
    }
  }

  // --- the two sides together

  constexpr bool check_sides() {
    const bool keeps_all = form_ == form::rearrange || form_ == form::repeat;
    for (const span_of_ellipsis& e : ellipsis_)
      if (e.present && !ellipsis_in_result_ && (keeps_all || (form_ == form::einsum && width_ > 0)))
        return fail({.why = code::ellipsis_only_in_input, .column = e.column});
    for (const label& l : m_.labels)
      if (keeps_all && !l.in_result)
        return fail({.why = code::label_only_in_input, .column = l.column, .name = l.name});
    for (const signed char id : ellipsis_ids_) {
      const label& l = m_.labels.items[index(id)];
      const int hidden = l.name.empty() ? -1 : find(l.name);
      if (hidden >= 0)
        return fail({.why = code::ellipsis_hides_label,
                     .column = m_.labels.items[static_cast<std::size_t>(hidden)].column,
                     .name = l.name});
    }
    return true;
  }

  /// Before sizes are asked for: a misspelt one is not the one that is missing.
  constexpr bool check_given() {
    for (const given_size& g : given_)
      if (symbol_of(g.name) < 0)
        return fail({.why = code::given_unknown,
                     .name = g.name,
                     .size = g.size,
                     .suggestion = nearest_label(g.name)});
    return true;
  }
  constexpr bool check_summed() {
    for (const std::string_view name : summed_) {
      const int id = find(name);
      if (id < 0) return fail({.why = code::summed_unknown, .name = name, .suggestion = nearest_label(name)});
      const label& l = m_.labels.items[static_cast<std::size_t>(id)];
      if (l.in_result) return fail({.why = code::summed_in_result, .column = l.column, .name = name});
    }
    return true;
  }

  /// Rule 3: in an einsum of several operands a label that is no axis's name, stands in one operand only and
  /// not in the result is probably misspelt.
  constexpr bool check_lone_aliases() {
    if (form_ != form::einsum || operands_.size() < 2) return true;
    for (std::size_t i = 0; i < m_.labels.size(); ++i) {
      const label& l = m_.labels.items[i];
      const notes& note = beside_[i];
      const std::string_view own = note.own.empty() ? note.part_of : note.own;
      const bool shared = (note.operands & (note.operands - 1)) != 0;  // more than one bit
      if (l.in_result || l.from_ellipsis || shared || own.empty() || same(own, l.name)) continue;
      bool listed = false;
      for (const std::string_view name : summed_) listed = listed || same(name, l.name);
      if (listed) continue;
      int operand = 0;
      while ((note.operands & (1u << operand)) == 0) ++operand;
      const std::string_view near = nearest_label(l.name);
      return fail({.why = code::lone_alias,
                   .operand = operand,
                   .column = l.column,
                   .name = l.name,
                   .other = own,
                   .suggestion = near.empty() ? own : near});
    }
    return true;
  }

  std::span<const std::string_view> summed_;
  bool ellipsis_in_result_ = false;
  std::size_t apart_ = 0;  // taken apart, the result has so many axes
};

}  // namespace napkin::pattern::detail
