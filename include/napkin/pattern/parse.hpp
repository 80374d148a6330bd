// The text of a pattern taken apart into operands, axes and atoms. Knows nothing of operands' sizes and
// names, and not which operation it is for, save that einsum takes commas and may leave out its result.
#pragma once

#include <cstddef>
#include <string_view>

#include "error.hpp"
#include "letters.hpp"
#include "napkin/core/inplace_vector.hpp"
#include "text.hpp"

namespace napkin::pattern {

inline constexpr std::size_t max_operands = 32;
inline constexpr std::size_t max_axes = 12;    ///< of one operand or result
inline constexpr std::size_t max_atoms = 160;  ///< names, numbers and ellipses of a whole pattern

static_assert(max_operands <= 32, "labels.hpp keeps a bit for each");

enum class dialect : unsigned char {
  unary,   ///< rearrange, reduce, repeat: one operand and an arrow
  einsum,  ///< operands separated by commas, the result may be left out, `_` is a name
  pack,    ///< axis names and one `*`, apart from each other by white space; no arrow
};

enum class atom_kind : unsigned char { name, number, ellipsis };  ///< `*` of pack is an ellipsis

struct atom {
  atom_kind kind;
  unsigned char symbol;  ///< of a name: equal names have equal symbols, counted from 0
  unsigned short column;
  unsigned short length;
  std::size_t value;  ///< of a number
};

/// An axis as written: atoms first to last (exclusive); `()` has none.
struct axis_expression {
  unsigned short column;
  unsigned short length;
  unsigned short first;
  unsigned short last;
  bool grouped;
};

struct syntax {
  error why;
  std::string_view text;
  inplace_vector<atom, max_atoms> atoms;
  inplace_vector<axis_expression, max_atoms> axes;
  unsigned short side[max_operands + 2]{};  ///< the first axis of each operand, then the result
  std::size_t operands = 1;
  std::size_t symbols = 0;
  bool has_result = false;

  constexpr std::string_view view(const atom& a) const {
    return {text.data() + a.column, static_cast<std::size_t>(a.length)};
  }
  constexpr std::string_view view(const axis_expression& a) const {
    return {text.data() + a.column, static_cast<std::size_t>(a.length)};
  }
};

namespace detail {

/// Of a name: letters, digits, `_` and, bytewise, all of UTF-8 beyond ASCII.
constexpr bool is_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class parser {
 public:
  constexpr parser(std::string_view text, dialect d) : p_(text.data()), n_(text.size()), dialect_(d) {
    s_.text = text;
  }

  constexpr syntax run() {
    if (n_ > 4096) return fail(code::too_long, 0);
    if (dialect_ == dialect::pack) return run_pack();
    while (at_ < n_ && s_.why.why == code::none) {
      const char c = p_[at_];
      if (c == ' ') {
        ++at_;
      } else if (is_word(static_cast<unsigned char>(c))) {
        word();
      } else if (c == '(') {
        if (open_) return fail(code::nested_parenthesis, at_);
        open_ = true;
        begin_axis(at_++);
      } else if (c == ')') {
        if (!open_) return fail(code::unbalanced_parenthesis, at_);
        open_ = false;
        end_axis(++at_);
      } else if (c == '.') {
        ellipsis();
      } else if (c == ',') {
        comma();
      } else if (c == '-' && at_ + 1 < n_ && p_[at_ + 1] == '>') {
        arrow();
      } else {
        const bool near_arrow = (c == '-' || c == '>' || c == '<' || c == '=');
        const bool arrowless = near_arrow && dialect_ == dialect::unary && s_.text.find("->") == s_.text.npos;
        return fail(arrowless ? code::missing_arrow : code::bad_character, at_, 1);
      }
    }
    if (s_.why) return s_;
    if (open_) return fail(code::unbalanced_parenthesis, s_.axes.back().column);
    if (!s_.has_result && dialect_ == dialect::unary) return fail(code::missing_arrow, n_);
    end_side();
    return s_;
  }

 private:
  constexpr const syntax& run_pack() {
    while (at_ < n_ && s_.why.why == code::none) {
      const std::size_t begin = at_;
      while (at_ < n_ && !is_space(p_[at_])) ++at_;
      if (at_ == begin) {
        ++at_;
      } else if (at_ == begin + 1 && p_[begin] == '*') {
        if (ellipsis_) return fail(code::second_star, begin);
        ellipsis_ = true;
        add(atom_kind::ellipsis, begin);
      } else {
        const std::size_t end = at_;
        at_ = begin;
        if (is_word(static_cast<unsigned char>(p_[begin]))) word();
        const bool is_name = at_ == end && (s_.atoms.count == 0 ||
                                            s_.atoms.items[s_.atoms.count - 1].kind != atom_kind::number);
        if (s_.why.why == code::none && !is_name) return fail(code::not_in_pack, begin, end - begin);
      }
    }
    if (s_.why) return s_;
    if (!ellipsis_) return fail(code::no_star, 0);
    end_side();
    return s_;
  }

  constexpr const syntax& fail(code why, std::size_t column, std::size_t length = 0) {
    s_.why.why = why;
    s_.why.column = static_cast<int>(column);
    s_.why.name = {s_.text.data() + column, length};
    return s_;
  }

  constexpr void begin_axis(std::size_t column) {
    const std::size_t i = s_.axes.count;
    if (i == max_atoms) {
      fail(code::too_long, column);
      return;
    }
    axis_expression& axis = s_.axes.items[i];
    axis.column = static_cast<unsigned short>(column);
    axis.first = static_cast<unsigned short>(s_.atoms.count);
    axis.grouped = true;
    s_.axes.count = i + 1;
  }
  constexpr void end_axis(std::size_t end) {
    axis_expression& axis = s_.axes.items[s_.axes.count - 1];
    axis.length = static_cast<unsigned short>(end - axis.column);
    axis.last = static_cast<unsigned short>(s_.atoms.count);
  }
  /// An atom that ends at at_, outside parentheses also an axis. Returned for its value or symbol.
  constexpr atom& add(atom_kind kind, std::size_t begin) {
    const std::size_t i = s_.atoms.count;
    if (i == max_atoms || s_.axes.count == max_atoms) {
      fail(code::too_long, begin);
      return s_.atoms.items[0];
    }
    const auto column = static_cast<unsigned short>(begin);
    const auto length = static_cast<unsigned short>(at_ - begin);
    atom& a = s_.atoms.items[i];
    a.kind = kind;
    a.column = column;
    a.length = length;
    s_.atoms.count = i + 1;
    if (open_) return a;
    axis_expression& axis = s_.axes.items[s_.axes.count++];
    axis.column = column;
    axis.length = length;
    axis.first = static_cast<unsigned short>(i);
    axis.last = static_cast<unsigned short>(i + 1);
    return a;
  }
  constexpr void name(std::size_t begin) {
    atom& added = add(atom_kind::name, begin);
    if (s_.why.why != code::none) return;
    const char* const p = p_ + begin;
    const auto key = static_cast<unsigned>(added.length) * 256 + static_cast<unsigned char>(*p);
    const std::size_t n = s_.symbols;
    for (std::size_t i = 0; i < n; ++i) {
      if (key_[i] == key && same({p, added.length}, {p_ + column_[i], added.length})) {
        added.symbol = static_cast<unsigned char>(i);
        return;
      }
    }
    added.symbol = static_cast<unsigned char>(n);
    key_[n] = key;
    column_[n] = static_cast<unsigned short>(begin);
    s_.symbols = n + 1;
  }

  constexpr void word() {
    const std::size_t begin = at_;
    const std::size_t n = n_;
    const char* const p = p_;
    std::size_t end = begin;
    while (end < n && p[end] >= 'a' && p[end] <= 'z') ++end;
    if (end > begin)
      while (end < n && is_digit(p[end])) ++end;
    if (end > begin &&
        (end == n || p[end] == ' ' || p[end] == ',')) {  // nearly all; a step saved here counts
      at_ = end;
      name(begin);
      return;
    }
    std::size_t digits = 0;
    bool beyond_ascii = false;
    for (; end < n; ++end) {
      const char c = p[end];
      if (!is_word(static_cast<unsigned char>(c))) break;
      if (is_digit(c)) ++digits;
      beyond_ascii = beyond_ascii || static_cast<unsigned char>(c) >= 0x80;
    }
    at_ = end;
    if (beyond_ascii && dialect_ != dialect::pack &&
        s_.text.substr(begin, end - begin) == "\xe2\x80\xa6") {  // the one character U+2026
      add_ellipsis(begin);
      return;
    }
    while (at_ < n_ && p_[at_] == '\'') ++at_;
    const bool glued = at_ < n_ && p_[at_] == '.';
    if (glued) {
      fail(code::malformed_ellipsis, begin, at_ - begin);
      return;
    }
    if (digits == end - begin && at_ == end) {
      number(begin, end);
      return;
    }
    const bool lone_underscore = end - begin == 1 && p_[begin] == '_';
    const bool underscored = p_[begin] == '_' || p_[end - 1] == '_';
    const bool after_prime = at_ < n_ && at_ != end && is_word(static_cast<unsigned char>(p_[at_]));
    const bool strange = beyond_ascii && !only_letters(s_.text.substr(begin, end - begin));
    if (is_digit(p_[begin]) || after_prime || strange ||
        (underscored && !(lone_underscore && dialect_ == dialect::einsum))) {
      while (at_ < n_ && (is_word(static_cast<unsigned char>(p_[at_])) || p_[at_] == '\'')) ++at_;
      fail(code::bad_axis_name, begin, at_ - begin);
      return;
    }
    name(begin);
  }

  constexpr void number(std::size_t begin, std::size_t end) {
    std::size_t value = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (value > (std::size_t{1} << 58)) {
        fail(code::number_too_large, begin, end - begin);
        return;
      }
      value = value * 10 + static_cast<std::size_t>(p_[i] - '0');
    }
    if (value == 0)
      fail(code::number_is_zero, begin, end - begin);
    else
      add(atom_kind::number, begin).value = value;
  }

  constexpr void ellipsis() {
    const std::size_t begin = at_;
    while (at_ < n_ && p_[at_] == '.') ++at_;
    const bool glued = at_ < n_ && is_word(static_cast<unsigned char>(p_[at_]));
    if (at_ - begin != 3 || glued)
      fail(code::malformed_ellipsis, begin, at_ - begin);
    else
      add_ellipsis(begin);
  }
  constexpr void add_ellipsis(std::size_t begin) {
    if (ellipsis_) {
      fail(code::double_ellipsis, begin);
    } else if (open_ && !s_.has_result) {
      fail(code::ellipsis_in_input_group, begin);
    } else {
      ellipsis_ = true;
      add(atom_kind::ellipsis, begin);
    }
  }

  constexpr void comma() {
    if (dialect_ != dialect::einsum || s_.has_result) {
      fail(code::unexpected_comma, at_, 1);
    } else if (open_) {
      fail(code::unbalanced_parenthesis, s_.axes.back().column);
    } else if (s_.operands == max_operands) {
      fail(code::too_long, at_);
    } else {
      end_side();
      ++s_.operands;
      ++at_;
    }
  }

  constexpr void arrow() {
    if (s_.has_result) {
      fail(code::second_arrow, at_);
    } else if (open_) {
      fail(code::unbalanced_parenthesis, s_.axes.back().column);
    } else {
      end_side();
      s_.has_result = true;
      at_ += 2;
    }
  }

  constexpr void end_side() {
    const std::size_t index = s_.has_result ? s_.operands : s_.operands - 1;
    s_.side[index + 1] = static_cast<unsigned short>(s_.axes.size());
    ellipsis_ = false;
  }

  const char* p_;  // plain pointers: std::string_view's operators cost several evaluation steps each
  std::size_t n_;
  syntax s_{};
  dialect dialect_;
  unsigned key_[max_atoms]{};  // of each symbol: its length and first byte
  unsigned short column_[max_atoms]{};
  std::size_t at_ = 0;
  bool open_ = false;
  bool ellipsis_ = false;
};

}  // namespace detail

/// Take a pattern apart.
///
/// Errors    syntax::why, with the column and (as name) the text at fault; the first mistake only
/// Source    einops.parsing.ParsedExpression, primed names (`seq'`) added
constexpr syntax parse(std::string_view text, dialect d) { return detail::parser(text, d).run(); }

}  // namespace napkin::pattern
