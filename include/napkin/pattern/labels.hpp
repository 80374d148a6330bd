// The labels of a pattern while it is bound: their sizes, the names of the axes that they stand for, and
// whether these agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "error.hpp"
#include "meaning.hpp"
#include "parse.hpp"
#include "text.hpp"

namespace napkin::pattern::detail {

enum class form : unsigned char { rearrange, reduce, repeat, einsum, pack };

constexpr dialect dialect_of(form f) {
  return f == form::einsum ? dialect::einsum : f == form::pack ? dialect::pack : dialect::unary;
}

class label_table {
 protected:
  constexpr label_table(form f, std::string_view text, std::span<const operand_view> operands,
                        std::span<const given_size> given)
      : form_(f), s_(parse(text, dialect_of(f))), operands_(operands), given_(given) {
    m_.why = s_.why;
  }

  struct notes {               // what is known of a label besides what the meaning says
    bool known;                // its size
    bool given;                // by the call
    bool repeated;             // stands more than once in the operands
    bool bears;                // some axis bears its name
    std::uint32_t operands;    // a bit for each that it stands in
    std::string_view own;      // the name of its axis or factor
    std::string_view part_of;  // the axis that it is split from
  };
  constexpr bool ok() const { return !m_.why; }
  constexpr bool fail(const error& why) {
    if (ok()) m_.why = why;
    return false;
  }
  static constexpr std::size_t index(signed char id) { return static_cast<std::size_t>(id); }

  constexpr int symbol_of(std::string_view name) const {
    for (std::size_t i = 0; i < s_.atoms.size(); ++i) {
      const atom& a = s_.atoms.items[i];
      if (a.kind == atom_kind::name && same(s_.view(a), name)) return a.symbol;
    }
    return -1;
  }
  /// The label of a name, -1 if it has none (yet).
  constexpr int find(std::string_view name) const {
    const int symbol = symbol_of(name);
    return symbol < 0 ? -1 : label_of_[static_cast<std::size_t>(symbol)] - 1;
  }
  constexpr bool unit(const atom& a) const { return a.kind == atom_kind::number && a.value == 1; }
  /// The number of labels that a group takes; a lone name or number is one label (`1`: none) too.
  constexpr std::size_t parts(const axis_expression& e) const {
    std::size_t n = 0;
    for (std::size_t t = e.first; t < e.last; ++t) n += unit(s_.atoms.items[t]) ? 0u : 1u;
    return n;
  }

  /// A new label, its size taken from the call where given there; -1 (and the error) if there are too many.
  constexpr signed char new_label(std::string_view name, short column) {
    const std::size_t id = m_.labels.count;
    if (id == max_labels) {
      fail({.why = code::too_long, .column = column, .name = name});
      return -1;
    }
    m_.labels.count = id + 1;
    label& l = m_.labels.items[id];
    l = {name, 0, source::fresh, -1, -1, -1, false, false, name.empty(), false, column};
    for (const given_size& g : given_) {
      if (same(g.name, name)) {
        l.size = g.size;
        beside_[id].known = beside_[id].given = true;
      }
    }
    return static_cast<signed char>(id);
  }
  constexpr signed char new_label(const atom& a) {
    const signed char id = new_label(s_.view(a), static_cast<short>(a.column));
    label_of_[a.symbol] = static_cast<signed char>(id + 1);
    return id;
  }

  constexpr signed char label_in_operand(const atom& a) {
    if (a.kind == atom_kind::number) {
      const auto column = static_cast<short>(a.column);
      if (form_ != form::reduce) {
        fail({.why = code::number_not_allowed, .column = column, .name = s_.view(a)});
        return -1;
      }
      const signed char id = new_label({}, column);
      if (id >= 0) set_size(id, a.value);
      return id;
    }
    const auto existing = static_cast<signed char>(label_of_[a.symbol] - 1);
    if (existing < 0) return new_label(a);
    if (form_ != form::einsum && form_ != form::pack) {
      fail({.why = code::duplicate_label, .column = a.column, .name = s_.view(a)});
      return -1;
    }
    beside_[index(existing)].repeated = true;
    return existing;
  }

  constexpr void set_size(signed char id, std::size_t n) {
    m_.labels.items[index(id)].size = n;
    beside_[index(id)].known = true;
  }
  constexpr std::size_t size(signed char id) const { return m_.labels.items[index(id)].size; }

  /// Give a label the size of an axis or factor named own, or see that they agree.
  constexpr bool meet_size(signed char id, std::size_t n, std::string_view own, std::size_t operand,
                           short column) {
    label& l = m_.labels.items[index(id)];
    bool& known = beside_[index(id)].known;
    if (!known) {
      l.size = n;
      known = true;
      return true;
    }
    if (l.size == n) return true;
    return fail({.why = l.nameless                 ? code::number_mismatch
                        : beside_[index(id)].given ? code::given_contradicts
                                                   : code::size_mismatch,
                 .operand = static_cast<int>(operand),
                 .column = column,
                 .name = l.nameless ? text_at(column) : l.name,
                 .other = own,
                 .size = n,
                 .other_size = l.size});
  }
  constexpr std::string_view text_at(short column) const {
    for (std::size_t i = 0; i < s_.atoms.size(); ++i)
      if (s_.atoms.items[i].column == column) return s_.view(s_.atoms.items[i]);
    return {};
  }

  /// Rule 2, and which axis the result takes its type from: the first that bears the label's name, else
  /// the first named one, else the first. bears: own is the label's name.
  constexpr bool meet_name(signed char id, std::string_view own, bool bears, std::size_t operand,
                           std::size_t axis, int factor, short column) {
    label& l = m_.labels.items[index(id)];
    notes& note = beside_[index(id)];
    const unsigned bit = 1u << operand;
    const bool again = (note.operands & bit) != 0;  // a diagonal
    note.operands |= bit;
    const bool named = !own.empty();
    if (l.operand < 0 || (bears && !note.bears) || (named && note.own.empty())) {
      l.operand = static_cast<signed char>(operand);
      l.axis = static_cast<signed char>(axis);
      l.factor = static_cast<signed char>(factor);
      l.alias = named && !bears;
      l.from = source::fresh;
      if (bears)
        l.from = factor < 0 ? source::operand_axis : source::operand_factor;
      else if (factor < 0 && !operands_[operand][axis].factors.empty())
        l.from = source::operand_axis;
    }
    const bool bore = note.bears;
    note.bears = bore || bears;
    if (!named || (bore && bears)) return true;
    if (note.own.empty() || (again && bears)) {
      note.own = own;
      return true;
    }
    if (again || same(own, note.own)) return true;
    const bool own_is_label = symbol_of(own) >= 0;
    if (!note.bears && !own_is_label && symbol_of(note.own) < 0) return true;
    return fail({.why = note.bears ? code::names_disagree : code::alias_joins_label,
                 .operand = static_cast<int>(operand),
                 .column = column,
                 .name = l.name,
                 .other = note.bears || own_is_label ? own : note.own});
  }

  constexpr std::string_view nearest_label(std::string_view misspelt) const {
    nearest_name nearest(misspelt);
    for (const label& l : m_.labels) nearest.consider(l.name);
    for (const operand_view& x : operands_)
      for (const axis_view& axis : x) nearest.consider(axis.name);
    return nearest.best();
  }

  form form_;
  syntax s_;
  std::span<const operand_view> operands_;
  std::span<const given_size> given_;
  meaning m_{};
  notes beside_[max_labels]{};         // the labels
  signed char label_of_[max_atoms]{};  // each symbol: its label's id + 1, 0 if it has none
};

}  // namespace napkin::pattern::detail
