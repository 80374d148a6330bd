// What the compiler says when a pattern is wrong: one class for each code of pattern/error.hpp. The sentences
// here are literals, as static_assert wants them; names, sizes and columns stand in the facts.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/pattern/error.hpp"

namespace napkin {

namespace fact {
template <fixed_string Name>
struct label;
template <fixed_string Name>
struct and_label;
template <fixed_string Name>
struct axis_called;
template <fixed_string Name>
struct perhaps;  // a name that is close
template <int Column>
struct at_column;  // of the pattern, counted from 0
template <std::size_t N>
struct pattern_has;
template <std::size_t N>
struct call_has;
}  // namespace fact

namespace rule {

/// call, label, at_column
template <class... Facts>
struct pattern_bad_character {
  static_assert(
      no<Facts...>,
      "a character that is not part of the pattern language: names, numbers, '...', '( )', ',' and '->'");
};
/// call, label, at_column
template <class... Facts>
struct pattern_bad_axis_name {
  static_assert(
      no<Facts...>,
      "a label is no axis name: letters, digits and inner underscores, no digit first, primes last");
};
/// call, at_column
template <class... Facts>
struct pattern_number_is_zero {
  static_assert(no<Facts...>, "an axis written as a number cannot be 0");
};
/// call, label, at_column
template <class... Facts>
struct pattern_number_too_large {
  static_assert(no<Facts...>, "a number is too large for an axis");
};
/// call, at_column
template <class... Facts>
struct pattern_malformed_ellipsis {
  static_assert(no<Facts...>, "dots may stand only in an ellipsis, '...', apart from names");
};
/// call, at_column
template <class... Facts>
struct pattern_double_ellipsis {
  static_assert(no<Facts...>, "a second '...' in one operand or in the result");
};
/// call, at_column
template <class... Facts>
struct pattern_ellipsis_in_input_group {
  static_assert(no<Facts...>, "'...' may stand in parentheses only in the result");
};
/// call, at_column
template <class... Facts>
struct pattern_unbalanced_parenthesis {
  static_assert(no<Facts...>, "a parenthesis has no partner");
};
/// call, at_column
template <class... Facts>
struct pattern_nested_parenthesis {
  static_assert(no<Facts...>, "parentheses inside parentheses: an axis is composed in one level");
};
/// call, at_column
template <class... Facts>
struct pattern_missing_arrow {
  static_assert(no<Facts...>, "the pattern has no '->'; it goes \"batch seq -> seq batch\"");
};
/// call, at_column
template <class... Facts>
struct pattern_second_arrow {
  static_assert(no<Facts...>, "the pattern has a second '->'");
};
/// call, at_column
template <class... Facts>
struct pattern_unexpected_comma {
  static_assert(no<Facts...>, "a comma separates operands of einsum and may not stand here");
};
/// call, label, at_column
template <class... Facts>
struct pattern_too_long {
  static_assert(no<Facts...>, "the pattern has more axes, labels or operands than the language takes");
};
/// call, label, at_column
template <class... Facts>
struct pattern_duplicate_label {
  static_assert(no<Facts...>, "one label stands twice on one side of the pattern");
};
/// call, label, at_column
template <class... Facts>
struct pattern_label_only_in_input {
  static_assert(no<Facts...>, "a label is missing in the result; only reduce drops axes");
};
/// call, label, perhaps, at_column
template <class... Facts>
struct pattern_label_only_in_result {
  static_assert(no<Facts...>, "a label stands in the result but in no operand");
};
/// call, at_column
template <class... Facts>
struct pattern_ellipsis_only_in_input {
  static_assert(no<Facts...>, "the axes of '...' are missing in the result");
};
/// call, at_column
template <class... Facts>
struct pattern_ellipsis_only_in_result {
  static_assert(no<Facts...>, "'...' stands in the result but in no operand");
};
/// call, label, at_column
template <class... Facts>
struct pattern_number_not_allowed {
  static_assert(no<Facts...>, "numbers over 1 may stand only left in reduce and right in repeat");
};
/// call, label, at_column
template <class... Facts>
struct pattern_new_label_without_size {
  static_assert(no<Facts...>,
                "the result has a new axis whose size is not given: add dim<\"name\", size> to the call");
};
/// call, label, has_size, perhaps, at_column
template <class... Facts>
struct pattern_given_unknown {
  static_assert(no<Facts...>, "a size is given for a label that is not in the pattern");
};
/// call, label, has_size, but_size, at_column
template <class... Facts>
struct pattern_given_twice {
  static_assert(no<Facts...>, "two sizes are given for one label");
};
/// call, label, perhaps, at_column
template <class... Facts>
struct pattern_summed_unknown {
  static_assert(no<Facts...>, "a label is listed as summed but is not in the pattern");
};
/// call, label, at_column
template <class... Facts>
struct pattern_summed_in_result {
  static_assert(no<Facts...>, "a label is listed as summed but stands in the result");
};
/// call, pattern_has, call_has, at_column
template <class... Facts>
struct pattern_operand_count {
  static_assert(no<Facts...>, "the pattern and the call have different numbers of operands");
};
/// call, in_operand, pattern_has, call_has, at_column
template <class... Facts>
struct pattern_rank_mismatch {
  static_assert(no<Facts...>,
                "the pattern and the operand have different numbers of axes; labels are words with spaces "
                "between them");
};
/// call, label, axis_called, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_size_mismatch {
  static_assert(no<Facts...>, "one label has two sizes");
};
/// call, label, axis_called, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_number_mismatch {
  static_assert(no<Facts...>, "a number in the pattern meets an axis of another size");
};
/// call, label, axis_called, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_given_contradicts {
  static_assert(no<Facts...>, "the size given for a label is not the size of its axis");
};
/// call, label, and_label, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_not_divisible {
  static_assert(no<Facts...>, "an axis does not divide by the sizes of the parts that it is split into");
};
/// call, label, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_sizes_do_not_multiply {
  static_assert(no<Facts...>, "the sizes of the parts do not multiply to the size of the axis that is split");
};
/// call, label, and_label, in_operand, has_size, at_column
template <class... Facts>
struct pattern_cannot_infer {
  static_assert(no<Facts...>,
                "more than one size is unknown in an axis that is split: give one, dim<\"name\", size>");
};
/// call, label, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_ellipsis_sizes_disagree {
  static_assert(no<Facts...>, "an axis of '...' has two sizes");
};
/// call, label, axis_called, in_operand, at_column
template <class... Facts>
struct pattern_names_other_axis {
  static_assert(
      no<Facts...>,
      "a label is the name of a different axis of this operand: labels go by position, as the axes lie");
};
/// call, label, axis_called, in_operand, at_column
template <class... Facts>
struct pattern_names_disagree {
  static_assert(no<Facts...>, "one label means axes of different names; rename one of them first");
};
/// call, label, and_label, in_operand, at_column
template <class... Facts>
struct pattern_alias_joins_label {
  static_assert(
      no<Facts...>,
      "a label joins axes of different names, one of which is itself a label; rename one of them first");
};
/// call, label, axis_called, in_operand, perhaps, at_column
template <class... Facts>
struct pattern_lone_alias {
  static_assert(no<Facts...>,
                "a label stands in one operand only, so that its axis would be summed silently: misspelt? "
                "Else list it, einsum_summing<pattern, summed<\"label\">>");
};
/// call, label, axis_called, in_operand, at_column
template <class... Facts>
struct pattern_ellipsis_names_disagree {
  static_assert(no<Facts...>, "'...' lines up axes of different names; name them in the pattern");
};
/// call, label, at_column
template <class... Facts>
struct pattern_ellipsis_hides_label {
  static_assert(no<Facts...>, "'...' stands for an axis that is also a label of the pattern");
};
/// call, label, axis_called, in_operand, has_size, at_column
template <class... Facts>
struct pattern_factors_disagree {
  static_assert(no<Facts...>,
                "a composed axis does not come apart like this: its factors differ in number or size");
};

}  // namespace rule

namespace detail {

/// A mistake's fields as template arguments; Binding::value is a pattern::meaning.
template <class Binding>
struct mistake_of {
  template <std::string_view pattern::error::*Field>
  struct text {
    static constexpr std::string_view view = Binding::value.why.*Field;
    static constexpr auto make() {
      fixed_string<view.size() + 1> s;
      for (std::size_t i = 0; i < view.size(); ++i) s.text[i] = view[i];
      return s;
    }
    static constexpr auto value = make();
  };
  static constexpr auto name = text<&pattern::error::name>::value;
  static constexpr auto other = text<&pattern::error::other>::value;
  static constexpr auto suggestion = text<&pattern::error::suggestion>::value;
  static constexpr std::size_t operand =
      Binding::value.why.operand < 0 ? 0 : static_cast<std::size_t>(Binding::value.why.operand);
  static constexpr std::size_t size = Binding::value.why.size;
  static constexpr std::size_t other_size = Binding::value.why.other_size;
  using column = fact::at_column<Binding::value.why.column>;
};

/// The one error of a pattern that does not bind. Call is fact::call<"einsum"> and the like.
template <class Binding, class Call>
constexpr auto complain_about_pattern() {
  using pattern::code;
  using Why = mistake_of<Binding>;
  using column = typename Why::column;
  constexpr code why = Binding::value.why.why;
  if constexpr (why == code::bad_character)
    (void)sizeof(rule::pattern_bad_character<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::bad_axis_name)
    (void)sizeof(rule::pattern_bad_axis_name<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::number_is_zero)
    (void)sizeof(rule::pattern_number_is_zero<Call, column>);
  else if constexpr (why == code::number_too_large)
    (void)sizeof(rule::pattern_number_too_large<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::malformed_ellipsis)
    (void)sizeof(rule::pattern_malformed_ellipsis<Call, column>);
  else if constexpr (why == code::double_ellipsis)
    (void)sizeof(rule::pattern_double_ellipsis<Call, column>);
  else if constexpr (why == code::ellipsis_in_input_group)
    (void)sizeof(rule::pattern_ellipsis_in_input_group<Call, column>);
  else if constexpr (why == code::unbalanced_parenthesis)
    (void)sizeof(rule::pattern_unbalanced_parenthesis<Call, column>);
  else if constexpr (why == code::nested_parenthesis)
    (void)sizeof(rule::pattern_nested_parenthesis<Call, column>);
  else if constexpr (why == code::missing_arrow)
    (void)sizeof(rule::pattern_missing_arrow<Call, column>);
  else if constexpr (why == code::second_arrow)
    (void)sizeof(rule::pattern_second_arrow<Call, column>);
  else if constexpr (why == code::unexpected_comma)
    (void)sizeof(rule::pattern_unexpected_comma<Call, column>);
  else if constexpr (why == code::too_long)
    (void)sizeof(rule::pattern_too_long<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::duplicate_label)
    (void)sizeof(rule::pattern_duplicate_label<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::label_only_in_input)
    (void)sizeof(rule::pattern_label_only_in_input<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::label_only_in_result)
    (void)sizeof(rule::pattern_label_only_in_result<Call, fact::label<Why::name>,
                                                    fact::perhaps<Why::suggestion>, column>);
  else if constexpr (why == code::ellipsis_only_in_input)
    (void)sizeof(rule::pattern_ellipsis_only_in_input<Call, column>);
  else if constexpr (why == code::ellipsis_only_in_result)
    (void)sizeof(rule::pattern_ellipsis_only_in_result<Call, column>);
  else if constexpr (why == code::number_not_allowed)
    (void)sizeof(rule::pattern_number_not_allowed<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::new_label_without_size)
    (void)sizeof(rule::pattern_new_label_without_size<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::given_unknown)
    (void)sizeof(rule::pattern_given_unknown<Call, fact::label<Why::name>, fact::has_size<Why::size>,
                                             fact::perhaps<Why::suggestion>, column>);
  else if constexpr (why == code::given_twice)
    (void)sizeof(rule::pattern_given_twice<Call, fact::label<Why::name>, fact::has_size<Why::size>,
                                           fact::but_size<Why::other_size>, column>);
  else if constexpr (why == code::summed_unknown)
    (void)sizeof(
        rule::pattern_summed_unknown<Call, fact::label<Why::name>, fact::perhaps<Why::suggestion>, column>);
  else if constexpr (why == code::summed_in_result)
    (void)sizeof(rule::pattern_summed_in_result<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::operand_count)
    (void)sizeof(rule::pattern_operand_count<Call, fact::pattern_has<Why::size>,
                                             fact::call_has<Why::other_size>, column>);
  else if constexpr (why == code::rank_mismatch)
    (void)sizeof(
        rule::pattern_rank_mismatch<Call, fact::in_operand<Why::operand>, fact::pattern_has<Why::size>,
                                    fact::call_has<Why::other_size>, column>);
  else if constexpr (why == code::size_mismatch)
    (void)sizeof(rule::pattern_size_mismatch<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                             fact::in_operand<Why::operand>, fact::has_size<Why::size>,
                                             fact::but_size<Why::other_size>, column>);
  else if constexpr (why == code::number_mismatch)
    (void)sizeof(rule::pattern_number_mismatch<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                               fact::in_operand<Why::operand>, fact::has_size<Why::size>,
                                               fact::but_size<Why::other_size>, column>);
  else if constexpr (why == code::given_contradicts)
    (void)sizeof(rule::pattern_given_contradicts<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                                 fact::in_operand<Why::operand>, fact::has_size<Why::size>,
                                                 fact::but_size<Why::other_size>, column>);
  else if constexpr (why == code::not_divisible)
    (void)sizeof(rule::pattern_not_divisible<Call, fact::label<Why::name>, fact::and_label<Why::other>,
                                             fact::in_operand<Why::operand>, fact::has_size<Why::size>,
                                             fact::but_size<Why::other_size>, column>);
  else if constexpr (why == code::sizes_do_not_multiply)
    (void)sizeof(
        rule::pattern_sizes_do_not_multiply<Call, fact::label<Why::name>, fact::in_operand<Why::operand>,
                                            fact::has_size<Why::size>, fact::but_size<Why::other_size>,
                                            column>);
  else if constexpr (why == code::cannot_infer)
    (void)sizeof(
        rule::pattern_cannot_infer<Call, fact::label<Why::name>, fact::and_label<Why::other>,
                                   fact::in_operand<Why::operand>, fact::has_size<Why::size>, column>);
  else if constexpr (why == code::ellipsis_sizes_disagree)
    (void)sizeof(
        rule::pattern_ellipsis_sizes_disagree<Call, fact::label<Why::name>, fact::in_operand<Why::operand>,
                                              fact::has_size<Why::size>, fact::but_size<Why::other_size>,
                                              column>);
  else if constexpr (why == code::names_other_axis)
    (void)sizeof(rule::pattern_names_other_axis<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                                fact::in_operand<Why::operand>, column>);
  else if constexpr (why == code::names_disagree)
    (void)sizeof(rule::pattern_names_disagree<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                              fact::in_operand<Why::operand>, column>);
  else if constexpr (why == code::alias_joins_label)
    (void)sizeof(rule::pattern_alias_joins_label<Call, fact::label<Why::name>, fact::and_label<Why::other>,
                                                 fact::in_operand<Why::operand>, column>);
  else if constexpr (why == code::lone_alias)
    (void)sizeof(
        rule::pattern_lone_alias<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                 fact::in_operand<Why::operand>, fact::perhaps<Why::suggestion>, column>);
  else if constexpr (why == code::ellipsis_names_disagree)
    (void)sizeof(
        rule::pattern_ellipsis_names_disagree<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                              fact::in_operand<Why::operand>, column>);
  else if constexpr (why == code::ellipsis_hides_label)
    (void)sizeof(rule::pattern_ellipsis_hides_label<Call, fact::label<Why::name>, column>);
  else if constexpr (why == code::factors_disagree)
    (void)sizeof(
        rule::pattern_factors_disagree<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                       fact::in_operand<Why::operand>, fact::has_size<Why::size>, column>);
}

}  // namespace detail

}  // namespace napkin
