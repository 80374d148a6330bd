// What the compiler says when a pattern is wrong: one class for each code of pattern/error.hpp. The sentences
// here are literals, as compilers want them; names, sizes and columns stand in the facts.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/pattern/meaning.hpp"

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
template <auto... Values>
struct values;  // numbers where something else is needed
}  // namespace fact

namespace rule {

/// call, label, at_column
template <class... Facts>
struct pattern_bad_character {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a character that is not part of the pattern language: names, numbers, '...', '( )', ',' and '->'");
};
/// call, label, at_column
template <class... Facts>
struct pattern_bad_axis_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "a label is no axis name: letters, digits and inner underscores, no digit first, primes last");
};
/// call, at_column
template <class... Facts>
struct pattern_number_is_zero {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "an axis written as a number cannot be 0");
};
/// call, label, at_column
template <class... Facts>
struct pattern_number_too_large {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a number is too large for an axis");
};
/// call, at_column
template <class... Facts>
struct pattern_malformed_ellipsis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "dots may stand only in an ellipsis, '...', apart from names");
};
/// call, at_column
template <class... Facts>
struct pattern_double_ellipsis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a second '...' in one operand or in the result");
};
/// call, at_column
template <class... Facts>
struct pattern_ellipsis_in_input_group {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "'...' may stand in parentheses only in the result");
};
/// call, at_column
template <class... Facts>
struct pattern_unbalanced_parenthesis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a parenthesis has no partner");
};
/// call, at_column
template <class... Facts>
struct pattern_nested_parenthesis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "parentheses inside parentheses: an axis is composed in one level");
};
/// call, at_column
template <class... Facts>
struct pattern_missing_arrow {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "the pattern has no '->'; it goes \"batch seq -> seq batch\"");
};
/// call, at_column
template <class... Facts>
struct pattern_second_arrow {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "the pattern has a second '->'");
};
/// call, at_column
template <class... Facts>
struct pattern_unexpected_comma {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "a comma separates operands of einsum and may not stand here");
};
/// call, label, at_column
template <class... Facts>
struct pattern_too_long {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "the pattern has more than the language takes: 12 axes of an "
                                         "operand, 52 labels, 32 operands, 160 words in all");
};
static_assert(pattern::max_axes == 12 && pattern::max_labels == 52 && pattern::max_operands == 32 &&
                  pattern::max_atoms == 160,
              "pattern_too_long says these numbers");
/// call, label, at_column
template <class... Facts>
struct pattern_not_in_pack {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "this may not stand in a pattern of pack, which has axis names and one '*', with spaces between: "
      "\"batch * embed\"");
};
/// call, at_column
template <class... Facts>
struct pattern_no_star {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the pattern has no '*', which stands for the axes that are packed into one");
};
/// call, at_column
template <class... Facts>
struct pattern_second_star {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "the pattern has a second '*': pack packs what stands at one place");
};
/// call, label, at_column
template <class... Facts>
struct pattern_duplicate_label {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "one label stands twice on one side of the pattern");
};
/// call, label, at_column
template <class... Facts>
struct pattern_label_only_in_input {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a label is missing in the result; only reduce drops axes");
};
/// call, label, perhaps, at_column
template <class... Facts>
struct pattern_label_only_in_result {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a label stands in the result but in no operand");
};
/// call, at_column
template <class... Facts>
struct pattern_ellipsis_only_in_input {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "the axes of '...' are missing in the result");
};
/// call, at_column
template <class... Facts>
struct pattern_ellipsis_only_in_result {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "'...' stands in the result but in no operand");
};
/// call, label, at_column
template <class... Facts>
struct pattern_number_not_allowed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "numbers over 1 may stand only left in reduce and right in repeat");
};
/// call, label, at_column
template <class... Facts>
struct pattern_new_label_without_size {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the result has a new axis whose size is not given: add dim<\"name\", size> to the call");
};
/// call, label, has_size, perhaps
template <class... Facts>
struct pattern_given_unknown {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a size is given for a label that is not in the pattern");
};
/// call, label, has_size, but_size
template <class... Facts>
struct pattern_given_twice {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "two sizes are given for one label");
};
/// call, label, perhaps
template <class... Facts>
struct pattern_summed_unknown {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a label is listed as summed but is not in the pattern");
};
/// call, label, at_column
template <class... Facts>
struct pattern_summed_in_result {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a label is listed as summed but stands in the result");
};
/// call, pattern_has, call_has
template <class... Facts>
struct pattern_operand_count {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "the pattern and the call have different numbers of operands");
};
/// call, in_operand, pattern_has, call_has, at_column
template <class... Facts>
struct pattern_rank_mismatch {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "the pattern and the operand have different numbers of axes; labels are words with spaces "
      "between them");
};
/// call, in_operand, pattern_has, call_has, at_column
template <class... Facts>
struct pattern_too_few_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "an operand has fewer axes than the pattern names beside '*'");
};
/// call, label, axis_called, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_size_mismatch {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "one label has two sizes");
};
/// call, label, axis_called, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_number_mismatch {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "a number in the pattern meets an axis of another size");
};
/// call, label, axis_called, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_given_contradicts {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "the size given for a label is not the size of its axis");
};
/// call, label, and_label, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_not_divisible {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "an axis does not divide by the sizes of the parts that it is split into");
};
/// call, label, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_sizes_do_not_multiply {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the sizes of the parts do not multiply to the size of the axis that is split");
};
/// call, label, and_label, in_operand, has_size, at_column
template <class... Facts>
struct pattern_cannot_infer {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "more than one size is unknown in an axis that is split: give one, dim<\"name\", size>");
};
/// call, label, in_operand, has_size, but_size, at_column
template <class... Facts>
struct pattern_ellipsis_sizes_disagree {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "an axis of '...' has two sizes");
};
/// call, label, axis_called, in_operand, at_column
template <class... Facts>
struct pattern_names_other_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a label is the name of a different axis of this operand: labels go by position, as the axes lie");
};
/// call, label, axis_called, in_operand, at_column
template <class... Facts>
struct pattern_names_disagree {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "one label means axes of different names; rename one of them first");
};
/// call, label, and_label, in_operand, at_column
template <class... Facts>
struct pattern_alias_joins_label {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a label joins axes of different names, one of which is itself a label; rename one of them first");
};
/// call, label, axis_called, in_operand, perhaps, at_column
template <class... Facts>
struct pattern_lone_alias {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a label stands in one operand only, so that its axis would be summed silently: misspelt? "
      "Else list it, einsum_summing<pattern, summed<\"label\">>");
};
/// call, label, axis_called, in_operand, at_column
template <class... Facts>
struct pattern_ellipsis_names_disagree {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "'...' lines up axes of different names; name them in the pattern");
};
/// call, label, at_column
template <class... Facts>
struct pattern_ellipsis_hides_label {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "'...' stands for an axis that is also a label of the pattern");
};
/// call, label, axis_called, in_operand, has_size, at_column
template <class... Facts>
struct pattern_factors_disagree {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "a composed axis does not come apart like this: its factors differ in number or size");
};

/// call<"f">, type<argument>...
template <class... Facts>
struct pattern_goes_in_brackets {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "the pattern, and the reduction of reduce, are read by the compiler: write them between angle "
      "brackets, rearrange<\"a b -> b a\">(x), reduce<\"a b -> a\", \"mean\">(x)");
};
/// call<"f">, values<N...>, named<"label">... or type<what was given>...
template <class... Facts>
struct sizes_go_in_brackets {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a label's size is given with its name, as an axis behind the pattern: "
      "rearrange<\"b (h w) -> b h w\", dim<\"h\", 4>>(x)");
};
/// call<"f">, type<argument>...
template <class... Facts>
struct argument_is_no_tensor {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "an argument is no tensor: a number goes outside, einsum<...>(x, y) * 2, or becomes a tensor, "
      "nk::tensor<float>(2), as values in memory do, nk::tensor<float, batch, seq>(values)");
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
      for (std::size_t i = 0; i != view.size(); ++i) s.text[i] = view[i];
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

/// The rule that a pattern breaks. Call is fact::call<"einsum"> and the like.
template <class Binding, class Call>
constexpr auto find_pattern_mistake() {
  using pattern::code;
  using Why = mistake_of<Binding>;
  using column = typename Why::column;
  constexpr code why = Binding::value.why.why;
  if constexpr (why == code::bad_character)
    return std::type_identity<rule::pattern_bad_character<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::bad_axis_name)
    return std::type_identity<rule::pattern_bad_axis_name<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::number_is_zero)
    return std::type_identity<rule::pattern_number_is_zero<Call, column>>{};
  else if constexpr (why == code::number_too_large)
    return std::type_identity<rule::pattern_number_too_large<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::malformed_ellipsis)
    return std::type_identity<rule::pattern_malformed_ellipsis<Call, column>>{};
  else if constexpr (why == code::double_ellipsis)
    return std::type_identity<rule::pattern_double_ellipsis<Call, column>>{};
  else if constexpr (why == code::ellipsis_in_input_group)
    return std::type_identity<rule::pattern_ellipsis_in_input_group<Call, column>>{};
  else if constexpr (why == code::unbalanced_parenthesis)
    return std::type_identity<rule::pattern_unbalanced_parenthesis<Call, column>>{};
  else if constexpr (why == code::nested_parenthesis)
    return std::type_identity<rule::pattern_nested_parenthesis<Call, column>>{};
  else if constexpr (why == code::missing_arrow)
    return std::type_identity<rule::pattern_missing_arrow<Call, column>>{};
  else if constexpr (why == code::second_arrow)
    return std::type_identity<rule::pattern_second_arrow<Call, column>>{};
  else if constexpr (why == code::unexpected_comma)
    return std::type_identity<rule::pattern_unexpected_comma<Call, column>>{};
  else if constexpr (why == code::too_long && Binding::value.why.size > max_rank)
    return std::type_identity<silent>{};  // an operand's own axes are: no tensor has so many
  else if constexpr (why == code::too_long)
    return std::type_identity<rule::pattern_too_long<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::not_in_pack)
    return std::type_identity<rule::pattern_not_in_pack<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::no_star)
    return std::type_identity<rule::pattern_no_star<Call, column>>{};
  else if constexpr (why == code::second_star)
    return std::type_identity<rule::pattern_second_star<Call, column>>{};
  else if constexpr (why == code::duplicate_label)
    return std::type_identity<rule::pattern_duplicate_label<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::label_only_in_input)
    return std::type_identity<rule::pattern_label_only_in_input<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::label_only_in_result)
    return std::type_identity<rule::pattern_label_only_in_result<Call, fact::label<Why::name>,
                                                                 fact::perhaps<Why::suggestion>, column>>{};
  else if constexpr (why == code::ellipsis_only_in_input)
    return std::type_identity<rule::pattern_ellipsis_only_in_input<Call, column>>{};
  else if constexpr (why == code::ellipsis_only_in_result)
    return std::type_identity<rule::pattern_ellipsis_only_in_result<Call, column>>{};
  else if constexpr (why == code::number_not_allowed)
    return std::type_identity<rule::pattern_number_not_allowed<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::new_label_without_size)
    return std::type_identity<rule::pattern_new_label_without_size<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::given_unknown)
    return std::type_identity<rule::pattern_given_unknown<
        Call, fact::label<Why::name>, fact::has_size<Why::size>, fact::perhaps<Why::suggestion>>>{};
  else if constexpr (why == code::given_twice)
    return std::type_identity<rule::pattern_given_twice<
        Call, fact::label<Why::name>, fact::has_size<Why::size>, fact::but_size<Why::other_size>>>{};
  else if constexpr (why == code::summed_unknown)
    return std::type_identity<
        rule::pattern_summed_unknown<Call, fact::label<Why::name>, fact::perhaps<Why::suggestion>>>{};
  else if constexpr (why == code::summed_in_result)
    return std::type_identity<rule::pattern_summed_in_result<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::operand_count)
    return std::type_identity<
        rule::pattern_operand_count<Call, fact::pattern_has<Why::size>, fact::call_has<Why::other_size>>>{};
  else if constexpr (why == code::rank_mismatch)
    return std::type_identity<
        rule::pattern_rank_mismatch<Call, fact::in_operand<Why::operand>, fact::pattern_has<Why::size>,
                                    fact::call_has<Why::other_size>, column>>{};
  else if constexpr (why == code::too_few_axes)
    return std::type_identity<
        rule::pattern_too_few_axes<Call, fact::in_operand<Why::operand>, fact::pattern_has<Why::size>,
                                   fact::call_has<Why::other_size>, column>>{};
  else if constexpr (why == code::size_mismatch)
    return std::type_identity<rule::pattern_size_mismatch<
        Call, fact::label<Why::name>, fact::axis_called<Why::other>, fact::in_operand<Why::operand>,
        fact::has_size<Why::size>, fact::but_size<Why::other_size>, column>>{};
  else if constexpr (why == code::number_mismatch)
    return std::type_identity<rule::pattern_number_mismatch<
        Call, fact::label<Why::name>, fact::axis_called<Why::other>, fact::in_operand<Why::operand>,
        fact::has_size<Why::size>, fact::but_size<Why::other_size>, column>>{};
  else if constexpr (why == code::given_contradicts)
    return std::type_identity<rule::pattern_given_contradicts<
        Call, fact::label<Why::name>, fact::axis_called<Why::other>, fact::in_operand<Why::operand>,
        fact::has_size<Why::size>, fact::but_size<Why::other_size>, column>>{};
  else if constexpr (why == code::not_divisible)
    return std::type_identity<rule::pattern_not_divisible<
        Call, fact::label<Why::name>, fact::and_label<Why::other>, fact::in_operand<Why::operand>,
        fact::has_size<Why::size>, fact::but_size<Why::other_size>, column>>{};
  else if constexpr (why == code::sizes_do_not_multiply)
    return std::type_identity<rule::pattern_sizes_do_not_multiply<
        Call, fact::label<Why::name>, fact::in_operand<Why::operand>, fact::has_size<Why::size>,
        fact::but_size<Why::other_size>, column>>{};
  else if constexpr (why == code::cannot_infer)
    return std::type_identity<
        rule::pattern_cannot_infer<Call, fact::label<Why::name>, fact::and_label<Why::other>,
                                   fact::in_operand<Why::operand>, fact::has_size<Why::size>, column>>{};
  else if constexpr (why == code::ellipsis_sizes_disagree)
    return std::type_identity<rule::pattern_ellipsis_sizes_disagree<
        Call, fact::label<Why::name>, fact::in_operand<Why::operand>, fact::has_size<Why::size>,
        fact::but_size<Why::other_size>, column>>{};
  else if constexpr (why == code::names_other_axis)
    return std::type_identity<
        rule::pattern_names_other_axis<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                       fact::in_operand<Why::operand>, column>>{};
  else if constexpr (why == code::names_disagree)
    return std::type_identity<
        rule::pattern_names_disagree<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                     fact::in_operand<Why::operand>, column>>{};
  else if constexpr (why == code::alias_joins_label)
    return std::type_identity<rule::pattern_alias_joins_label<
        Call, fact::label<Why::name>, fact::and_label<Why::other>, fact::in_operand<Why::operand>, column>>{};
  else if constexpr (why == code::lone_alias)
    return std::type_identity<
        rule::pattern_lone_alias<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                 fact::in_operand<Why::operand>, fact::perhaps<Why::suggestion>, column>>{};
  else if constexpr (why == code::ellipsis_names_disagree)
    return std::type_identity<
        rule::pattern_ellipsis_names_disagree<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                              fact::in_operand<Why::operand>, column>>{};
  else if constexpr (why == code::ellipsis_hides_label)
    return std::type_identity<rule::pattern_ellipsis_hides_label<Call, fact::label<Why::name>, column>>{};
  else if constexpr (why == code::factors_disagree)
    return std::type_identity<
        rule::pattern_factors_disagree<Call, fact::label<Why::name>, fact::axis_called<Why::other>,
                                       fact::in_operand<Why::operand>, fact::has_size<Why::size>, column>>{};
  else
    return std::type_identity<accepted>{};
}
template <class Binding, class Call>
using pattern_mistake = typename decltype(find_pattern_mistake<Binding, Call>())::type;

}  // namespace detail

}  // namespace napkin
