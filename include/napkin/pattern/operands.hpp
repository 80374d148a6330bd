// A pattern's left side meets the operands: every axis gets its labels, composed axes come apart, `...`
// is aligned.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "labels.hpp"

namespace napkin::pattern::detail {

class operand_binder : protected label_table {
 protected:
  struct group {  // a composed axis some of whose sizes are not known yet
    unsigned char operand;
    unsigned char axis;
    unsigned short expression;
    bool solved;
  };
  struct span_of_ellipsis {
    bool present;
    std::size_t first;  // the first axis that it stands for
    std::size_t width;
    short column;
  };

  using label_table::label_table;

  constexpr bool bind_operands() {
    m_.operand.count = operands_.size();
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (!(measure(k) && bind_operand(k))) return false;
    return true;
  }

  /// Where the ellipsis of operand k begins and how many axes it stands for.
  constexpr bool measure(std::size_t k) {
    const std::size_t rank = operands_[k].size();
    if (rank > max_axes) return fail({.why = code::too_long, .operand = static_cast<int>(k), .size = rank});
    const std::size_t first = s_.side[k];
    const std::size_t last = s_.side[k + 1];
    span_of_ellipsis& e = ellipsis_[k];
    for (std::size_t i = first; i < last; ++i) {
      const axis_expression& x = s_.axes.items[i];
      if (x.last == x.first + 1 && s_.atoms.items[x.first].kind == atom_kind::ellipsis)
        e = {true, i - first, 0, static_cast<short>(x.column)};
    }
    const std::size_t written = last - first - (e.present ? 1u : 0u);
    if (written > rank || (!e.present && written != rank))
      return fail({.why = code::rank_mismatch,
                   .operand = static_cast<int>(k),
                   .column = first < last ? static_cast<int>(s_.axes.items[first].column) : 0,
                   .size = written,
                   .other_size = rank});
    e.width = rank - written;
    if (!e.present) e.first = rank;
    return true;
  }
  /// The expression at an axis, max_atoms under the ellipsis.
  constexpr std::size_t expression_at(std::size_t k, std::size_t axis) const {
    const span_of_ellipsis& e = ellipsis_[k];
    if (!e.present || axis < e.first) return s_.side[k] + axis;
    return axis < e.first + e.width ? max_atoms : s_.side[k] + axis + 1 - e.width;
  }

  /// Rule 1: no label is the name of a different axis of its operand, nor of a different factor.
  constexpr bool check_name(std::size_t k, std::size_t i, const axis_expression& e, const atom& a,
                            std::size_t place) {
    const operand_view x = operands_[k];
    const std::string_view name = s_.view(a);
    const bool whole = e.last == e.first + 1;
    bool other = false;
    for (std::size_t j = 0; j < x.size() && !other; ++j) {
      const bool here = i == j;
      if (!here && same(x[j].name, name)) other = !(whole && stands_alone(k, j, a));
      if (x[j].factors.empty() || !(here || is_product(x[j]))) continue;
      if (here && whole && !is_product(x[j])) continue;  // an alias of an axis that was composed once
      for (std::size_t f = 0; f < x[j].factors.size(); ++f)
        if (same(x[j].factors[f].name, name))
          other = other || !(here ? !whole && f == place : bears(x[i], whole, place, name));
    }
    if (!other) return true;
    return fail({.why = code::names_other_axis,
                 .operand = static_cast<int>(k),
                 .column = a.column,
                 .name = name,
                 .other = x[i].name});
  }
  static constexpr bool is_product(const axis_view& axis) {
    return !axis.name.empty() && axis.name.front() == '(';
  }
  constexpr bool stands_alone(std::size_t k, std::size_t axis, const atom& a) const {
    const std::size_t at = expression_at(k, axis);
    if (at == max_atoms) return false;
    const axis_expression& e = s_.axes.items[at];
    const atom& there = s_.atoms.items[e.first];
    return e.last == e.first + 1 && there.kind == atom_kind::name && there.symbol == a.symbol;
  }
  /// Whether name is what it says at its own place, so that an equal factor elsewhere does not matter.
  static constexpr bool bears(const axis_view& axis, bool whole, std::size_t place, std::string_view name) {
    if (same(axis.name, name)) return true;
    return !whole && place < axis.factors.size() && same(axis.factors[place].name, name);
  }

  constexpr bool bind_operand(std::size_t k) {
    const operand_view x = operands_[k];
    axis_labels& list = m_.operand.items[k];
    list.count = x.size();
    const axis_expression* const expressions = s_.axes.items;
    std::size_t all = ellipsis_[k].width;  // taken apart, the operand has so many axes
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = expression_at(k, i);
      if (at == max_atoms) continue;
      const axis_expression& e = expressions[at];
      const std::size_t n = parts(e);
      all += n;
      if (all > max_axes)
        return fail({.why = code::too_long, .operand = static_cast<int>(k), .column = e.column});
      if (n == 0) {
        if (x[i].size == 1) continue;
        return fail({.why = code::number_mismatch,
                     .operand = static_cast<int>(k),
                     .column = e.column,
                     .name = s_.view(e),
                     .other = x[i].name,
                     .size = x[i].size,
                     .other_size = 1});
      }
      if (!(n == 1 ? bind_whole(k, i, e, list.items[i]) : bind_group(k, i, at, n, list.items[i])))
        return false;
    }
    return true;
  }

  constexpr bool bind_whole(std::size_t k, std::size_t axis, const axis_expression& e, label_ids& ids) {
    const axis_view& view = operands_[k][axis];
    std::size_t t = e.first;
    while (unit(s_.atoms.items[t])) ++t;
    const atom& a = s_.atoms.items[t];
    const bool bears = same(view.name, s_.view(a));
    if (!bears && !check_name(k, axis, e, a, 0)) return false;
    const signed char id = label_in_operand(a);
    if (id < 0) return false;
    ids.items[0] = id;
    ids.count = 1;
    const auto column = static_cast<short>(a.column);
    if (a.kind == atom_kind::name && !meet_name(id, view.name, bears, k, axis, -1, column)) return false;
    return meet_size(id, view.size, view.name, k, column);
  }

  constexpr bool bind_group(std::size_t k, std::size_t axis, std::size_t at, std::size_t n, label_ids& ids) {
    const axis_expression& e = s_.axes.items[at];
    const axis_view& view = operands_[k][axis];
    if (n > max_axes) return fail({.why = code::too_long, .column = e.column, .name = s_.view(e)});
    bool apart = view.factors.size() == n;  // the axis's own factors are the group's
    std::array<short, max_axes> column{};
    for (std::size_t t = e.first; t < e.last; ++t) {
      const atom& a = s_.atoms.items[t];
      if (unit(a)) continue;
      const std::size_t place = ids.size();
      if (!check_name(k, axis, e, a, place)) return false;
      const signed char id = label_in_operand(a);
      if (id < 0) return false;
      column[place] = static_cast<short>(a.column);
      ids.push_back(id);
      if (apart && beside_[index(id)].known && size(id) != view.factors[place].size) apart = false;
    }
    if (!apart && is_product(view))
      return fail({.why = code::factors_disagree,
                   .operand = static_cast<int>(k),
                   .column = e.column,
                   .name = s_.view(e),
                   .other = view.name,
                   .size = view.size});
    for (std::size_t f = 0; f < n; ++f) {
      const signed char id = ids[f];
      if (apart) {
        const factor_view& own = view.factors[f];
        const label& l = m_.labels.items[index(id)];
        if (!l.nameless &&
            !meet_name(id, own.name, same(own.name, l.name), k, axis, static_cast<int>(f), column[f]))
          return false;
        if (!meet_size(id, own.size, own.name, k, column[f])) return false;
      } else {
        notes& note = beside_[index(id)];
        note.operands |= 1u << k;
        if (note.part_of.empty()) note.part_of = view.name;
      }
    }
    if (apart) return true;
    if (groups_.size() == groups_.capacity()) return fail({.why = code::too_long, .column = e.column});
    groups_.push_back({static_cast<unsigned char>(k), static_cast<unsigned char>(axis),
                       static_cast<unsigned short>(at), false});
    return true;
  }

  /// Each round finds the sizes that follow from those found before; a rearrangement needs one round.
  constexpr bool solve_groups() {
    std::size_t left = groups_.size();
    for (bool progress = true; left > 0 && (progress || split_freely());) {
      progress = false;
      for (group& g : groups_) {
        if (g.solved) continue;
        const label_ids& ids = m_.operand.items[g.operand].items[g.axis];
        std::size_t product = 1;
        std::size_t unknown = 0;
        signed char last = -1;
        for (const signed char id : ids) {
          if (beside_[index(id)].known) {
            const std::size_t n = size(id);
            constexpr std::size_t most = static_cast<std::size_t>(-1);
            product = n != 0 && product > most / n ? most : product * n;
          } else {
            ++unknown;
            last = id;
          }
        }
        if (unknown > 1) continue;
        const std::size_t whole = operands_[g.operand][g.axis].size;
        if (unknown == 0 && product != whole) return fail_group(g, code::sizes_do_not_multiply, product);
        if (unknown == 1 && (product == 0 || whole % product != 0))
          return fail_group(g, code::not_divisible, product);
        if (unknown == 1) set_size(last, whole / product);
        g.solved = true;
        progress = true;
        --left;
      }
    }
    for (const group& g : groups_)
      if (!g.solved) return fail_group(g, code::cannot_infer, 0);
    return true;
  }
  /// Gives sizes to the labels of one composed axis that einsum sums over as a whole, "(h d), (h d) e -> e":
  /// how it splits makes no difference where its labels stand together, in one order, wherever they stand.
  constexpr bool split_freely() {
    if (form_ != form::einsum) return false;
    for (const group& g : groups_) {
      if (g.solved || !stands_together(g)) continue;
      signed char last = -1;
      for (const signed char id : m_.operand.items[g.operand].items[g.axis]) {
        if (beside_[index(id)].known) continue;
        if (last >= 0) set_size(last, 1);
        last = id;
      }
      return true;
    }
    return false;
  }
  constexpr bool stands_together(const group& g) const {
    const label_ids& ids = m_.operand.items[g.operand].items[g.axis];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const signed char id = ids[i];
      if (beside_[index(id)].known) continue;
      if (ids.index_of(id) != i || is_in_result(id)) return false;  // twice in one axis is its diagonal
      for (const group& other : groups_) {  // who knows a size has it from elsewhere: none but groups is left
        const label_ids& theirs = m_.operand.items[other.operand].items[other.axis];
        if (!other.solved && theirs.contains(id) && !(theirs == ids)) return false;
      }
    }
    return true;
  }
  /// Before the result is bound.
  constexpr bool is_in_result(signed char id) const {
    if (!s_.has_result) return !beside_[index(id)].repeated;
    for (std::size_t i = s_.side[s_.operands]; i < s_.side[s_.operands + 1]; ++i)
      for (std::size_t t = s_.axes.items[i].first; t < s_.axes.items[i].last; ++t) {
        const atom& a = s_.atoms.items[t];
        if (a.kind == atom_kind::name && label_of_[a.symbol] - 1 == id) return true;
      }
    return false;
  }

  constexpr bool fail_group(const group& g, code why, std::size_t product) {
    std::string_view other;
    for (const signed char id : m_.operand.items[g.operand].items[g.axis])
      if (beside_[index(id)].known == (why != code::cannot_infer) && other.empty())
        other = m_.labels.items[index(id)].nameless ? text_at(m_.labels.items[index(id)].column)
                                                    : m_.labels.items[index(id)].name;
    const axis_expression& e = s_.axes.items[g.expression];
    return fail({.why = why,
                 .operand = g.operand,
                 .column = e.column,
                 .name = s_.view(e),
                 .other = other,
                 .size = operands_[g.operand][g.axis].size,
                 .other_size = product});
  }

  // --- the ellipsis

  /// Rule 4: `...` aligns from the right, names agree, and only nameless axes of size 1 stretch (einsum's
  /// broadcasting, as in numpy).
  constexpr bool bind_ellipsis() {
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (ellipsis_[k].present && ellipsis_[k].width > width_) width_ = ellipsis_[k].width;
    for (std::size_t from_right = width_; from_right-- > 0;)
      if (!bind_ellipsis_axis(from_right)) return false;
    return true;
  }
  constexpr bool bind_ellipsis_axis(std::size_t from_right) {
    signed char id = -1;
    bool fixed = false;  // by a named axis or by one of a size other than 1
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const span_of_ellipsis& e = ellipsis_[k];
      if (!e.present || from_right >= e.width) continue;
      const std::size_t axis = e.first + e.width - 1 - from_right;
      const axis_view& view = operands_[k][axis];
      if (id < 0) {
        id = new_label({}, e.column);
        if (id < 0) return false;
        label& l = m_.labels.items[index(id)];
        l.from_ellipsis = true;
        l.size = view.size;
        ellipsis_ids_.push_back(id);
      }
      label& l = m_.labels.items[index(id)];
      const bool fixes = !view.name.empty() || view.size != 1;
      const bool names_it = l.name.empty() && !view.name.empty();
      if (!view.name.empty() && !l.name.empty() && !same(view.name, l.name))
        return fail({.why = code::ellipsis_names_disagree,
                     .operand = static_cast<int>(k),
                     .column = e.column,
                     .name = view.name,
                     .other = l.name});
      if (fixes && fixed && view.size != l.size)
        return fail({.why = code::ellipsis_sizes_disagree,
                     .operand = static_cast<int>(k),
                     .column = e.column,
                     .name = view.name.empty() ? l.name : view.name,
                     .size = view.size,
                     .other_size = l.size});
      if (l.operand < 0 || (fixes && !fixed) || names_it) {
        l.size = view.size;
        l.from = source::operand_axis;
        l.operand = static_cast<signed char>(k);
        l.axis = static_cast<signed char>(axis);
      }
      if (names_it) {
        l.name = view.name;
        l.nameless = false;
      }
      fixed = fixed || fixes;
    }
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const span_of_ellipsis& e = ellipsis_[k];
      if (!e.present || from_right >= e.width) continue;
      const std::size_t axis = e.first + e.width - 1 - from_right;
      if (operands_[k][axis].size == size(id)) m_.operand.items[k].items[axis].push_back(id);
    }
    return true;
  }

  span_of_ellipsis ellipsis_[max_operands]{};
  inplace_vector<signed char, max_axes> ellipsis_ids_;
  std::size_t width_ = 0;  // of the widest ellipsis

 private:
  inplace_vector<group, 2 * max_axes> groups_;
};

}  // namespace napkin::pattern::detail
