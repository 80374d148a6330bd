// The pattern of pack and unpack bound to operands: "batch * embed". Every operand has the labelled axes;
// what stands under `*` is its own. The doors are in bind.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "operands.hpp"

namespace napkin::pattern {

/// What a pattern of pack means.
struct pack_meaning {
  meaning value;           ///< the result's axes are the labelled ones: the packed axis is not among them
  std::size_t before = 0;  ///< labelled axes left of `*`
};

namespace detail {

class pack_binder : operand_binder {
 public:
  constexpr pack_binder(std::string_view text, std::span<const operand_view> operands)
      : operand_binder(form::pack, text, operands, {}) {}

  /// unpacks: the one operand is the packed one, where `*` is a single axis.
  constexpr pack_meaning run(bool unpacks) {
    ok() && check_labels() && spread_pattern() && check_ranks(unpacks) && bind_operands();
    pack_meaning p{m_, ok() ? ellipsis_[0].first : 0};
    for (std::size_t i = 0; ok() && i < m_.labels.size(); ++i) {
      p.value.labels[i].in_result = true;
      p.value.result.push_back(label_ids(1, static_cast<signed char>(i)));
    }
    return p;
  }

 private:
  constexpr bool check_labels() {
    for (std::size_t i = 0; i < s_.atoms.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const atom &a = s_.atoms.items[i], &b = s_.atoms.items[j];
        if (a.kind == atom_kind::name && b.kind == atom_kind::name && a.symbol == b.symbol)
          return fail({.why = code::duplicate_label, .column = a.column, .name = s_.view(a)});
      }
    return true;
  }

  /// One pattern for all operands: as if it were written for each, separated by commas.
  constexpr bool spread_pattern() {
    const std::size_t n = s_.axes.size();
    if (operands_.size() > max_operands || n * operands_.size() > max_atoms)
      return fail({.why = code::too_long, .column = 0});
    for (std::size_t k = 1; k < operands_.size(); ++k) {
      for (std::size_t i = 0; i < n; ++i) s_.axes.push_back(s_.axes.items[i]);
      s_.side[k + 1] = static_cast<unsigned short>(s_.axes.size());
    }
    s_.operands = operands_.size();
    return true;
  }

  constexpr bool check_ranks(bool unpacks) {
    const std::size_t labelled = s_.side[1] - std::size_t{1};
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const std::size_t rank = operands_[k].size();
      if (unpacks && rank != labelled + 1)
        return fail({.why = code::rank_mismatch,
                     .operand = static_cast<int>(k),
                     .column = 0,
                     .size = labelled + 1,
                     .other_size = rank});
      if (rank < labelled)
        return fail({.why = code::too_few_axes,
                     .operand = static_cast<int>(k),
                     .column = 0,
                     .size = labelled,
                     .other_size = rank});
    }
    return true;
  }
};

}  // namespace detail

}  // namespace napkin::pattern
