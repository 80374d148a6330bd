// What can be wrong with a pattern, as a value: the language returns mistakes, it does not throw or
// assert, so that the caller (core/rules.hpp at compile time, a test at run time) chooses the words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace napkin::pattern {

enum class code : std::uint8_t {
  none,
  // the text alone
  bad_character,
  bad_axis_name,
  number_is_zero,
  number_too_large,
  malformed_ellipsis,
  double_ellipsis,
  ellipsis_in_input_group,
  unbalanced_parenthesis,
  nested_parenthesis,
  missing_arrow,
  second_arrow,
  unexpected_comma,
  too_long,
  not_in_pack,
  no_star,
  second_star,
  // its two sides
  duplicate_label,
  label_only_in_input,
  label_only_in_result,
  ellipsis_only_in_input,
  ellipsis_only_in_result,
  number_not_allowed,
  new_label_without_size,
  given_unknown,
  given_twice,
  summed_unknown,
  summed_in_result,
  // against the operands' sizes
  operand_count,
  rank_mismatch,
  too_few_axes,
  size_mismatch,
  number_mismatch,
  given_contradicts,
  not_divisible,
  sizes_do_not_multiply,
  cannot_infer,
  ellipsis_sizes_disagree,
  // against the operands' names
  names_other_axis,
  names_disagree,
  alias_joins_label,
  lone_alias,
  ellipsis_names_disagree,
  ellipsis_hides_label,
  factors_disagree,
};

/// One mistake. What a field means for a code is said in sentence(): name is the label or axis at fault,
/// other what it is compared with; sizes likewise. Fields that say nothing are empty, 0 or -1.
struct error {
  code why = code::none;
  int operand = -1;  ///< counted from 0
  int column = -1;   ///< byte offset in the pattern, counted from 0
  std::string_view name{};
  std::string_view other{};
  std::size_t size = 0;
  std::size_t other_size = 0;
  std::string_view suggestion{};  ///< a likely name where one is close, else empty

  constexpr explicit operator bool() const { return why != code::none; }
};

/// The mistake as one sentence; <name>, <other>, <size>, <other_size> and <operand> stand for the fields
/// of error, which describe() in pattern/describe.hpp puts in.
constexpr std::string_view sentence(code why) {
  switch (why) {
    case code::none:
      return "the pattern is fine";
    case code::bad_character:
      return "'<name>' is not part of the pattern language";
    case code::bad_axis_name:
      return "'<name>' is not an axis name: letters, digits and inner underscores, not starting with a "
             "digit, primes at the end";
    case code::number_is_zero:
      return "an axis written as a number cannot be 0";
    case code::number_too_large:
      return "the number <name> is too large for an axis";
    case code::malformed_ellipsis:
      return "dots may stand only in an ellipsis, '...', apart from names";
    case code::double_ellipsis:
      return "a second ellipsis in one operand or result";
    case code::ellipsis_in_input_group:
      return "an ellipsis may stand in parentheses only in the result";
    case code::unbalanced_parenthesis:
      return "a parenthesis has no partner";
    case code::nested_parenthesis:
      return "parentheses inside parentheses";
    case code::missing_arrow:
      return "the pattern has no '->'";
    case code::second_arrow:
      return "a second '->'";
    case code::unexpected_comma:
      return "a comma separates operands of einsum and may not stand here";
    case code::too_long:
      return "the pattern has more than the language takes: 12 axes of an operand, 52 labels, 32 operands, "
             "160 words in all";
    case code::not_in_pack:
      return "'<name>' may not stand in a pattern of pack: it has axis names and one '*'";
    case code::no_star:
      return "the pattern has no '*', which stands for the axes that are packed";
    case code::second_star:
      return "a second '*'";
    case code::duplicate_label:
      return "<name> stands twice on one side";
    case code::label_only_in_input:
      return "<name> is missing in the result (reduce drops axes)";
    case code::label_only_in_result:
      return "<name> stands in the result but in no operand";
    case code::ellipsis_only_in_input:
      return "the axes of '...' are missing in the result";
    case code::ellipsis_only_in_result:
      return "'...' stands in the result but in no operand";
    case code::number_not_allowed:
      return "<name>: numbers over 1 may stand only left in reduce, right in repeat";
    case code::new_label_without_size:
      return "the size of the new axis <name> is not given";
    case code::given_unknown:
      return "a size is given for <name>, which is not in the pattern";
    case code::given_twice:
      return "two sizes are given for <name>: <size> and <other_size>";
    case code::summed_unknown:
      return "<name> is listed as summed but is not in the pattern";
    case code::summed_in_result:
      return "<name> is listed as summed but stands in the result";
    case code::operand_count:
      return "the pattern has <size> operands, the call <other_size>";
    case code::rank_mismatch:
      return "the pattern has <size> axes for operand <operand>, which has <other_size>";
    case code::too_few_axes:
      return "the pattern names <size> axes beside '*', and operand <operand> has <other_size>";
    case code::size_mismatch:
      return "<name> has size <size> in operand <operand> but <other_size> elsewhere";
    case code::number_mismatch:
      return "<name> in the pattern meets an axis <other> of size <size>";
    case code::given_contradicts:
      return "<name> is given size <other_size> but its axis <other> has size <size>";
    case code::not_divisible:
      return "axis <name> of size <size> does not divide by <other_size> (<other>)";
    case code::sizes_do_not_multiply:
      return "axis <name> has size <size> but its parts multiply to <other_size>";
    case code::cannot_infer:
      return "in <name> of size <size> more than one size is unknown: give <other>";
    case code::ellipsis_sizes_disagree:
      return "an axis <name> of '...' has size <size> in operand <operand> but <other_size> elsewhere";
    case code::names_other_axis:
      return "label <name> stands at axis <other> but is the name of a different axis of operand <operand>";
    case code::names_disagree:
      return "label <name> means an axis <other> in operand <operand> but not elsewhere; rename it first";
    case code::alias_joins_label:
      return "alias <name> joins axes of different names, and <other> is itself a label; rename first";
    case code::lone_alias:
      return "<name> (axis <other> of operand <operand>) stands nowhere else and would be summed silently";
    case code::ellipsis_names_disagree:
      return "'...' aligns axis <name> of operand <operand> with axis <other>";
    case code::ellipsis_hides_label:
      return "'...' stands for an axis <name>, which is also a label";
    case code::factors_disagree:
      return "axis <other> does not come apart as <name>: its factors differ in number or size";
  }
  return "";
}

}  // namespace napkin::pattern
