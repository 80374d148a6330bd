// What a pattern means for given operands: labels with sizes, and for every axis the labels it is made
// of. The pattern language's output; the operations, and nothing here, know tensors.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "error.hpp"
#include "napkin/core/inplace_vector.hpp"
#include "parse.hpp"

namespace napkin::pattern {

inline constexpr std::size_t max_labels = 52;
inline constexpr std::size_t max_factors = max_axes;  // a tensor of all its axes, merged into one

// Members begin with a value: nvcc 13 leaves those that do not, in an array of the type, uninitialised.
struct factor_view {
  std::string_view name;
  std::size_t size = 0;
};

/// One axis of an operand, as its type describes it.
struct axis_view {
  std::string_view name;                             ///< `(heads hidden)` for a product, empty if nameless
  std::size_t size = 0;                              ///< the bound of an axis that is sized at run time
  inplace_vector<factor_view, max_factors> factors;  ///< of a product, outer to inner, else empty
  bool plain = false;                                ///< is_plain_name(name); may be left unsaid
};
using operand_view = std::span<const axis_view>;

/// A size in the call: rearrange<"...", dim<"h", 2>>(x).
struct given_size {
  std::string_view name;
  std::size_t size = 0;
};

enum class source : unsigned char {
  operand_axis,    ///< the result keeps the type of axis (operand, axis)
  operand_factor,  ///< the result keeps the type of that axis's factor
  fresh,           ///< the result makes a plain dim<name, size>
};

struct label {
  std::string_view name;  ///< as written; the axis's own name under `...`; empty for a number
  std::size_t size = 0;
  source from{};
  /// The axis and factor that the label stands for, -1 if none. Also set where an alias makes a fresh axis
  /// of them, so that a run-time extent is not lost: fresh with operand < 0 is new or a part of an axis.
  signed char operand = 0;
  signed char axis = 0;
  signed char factor = 0;
  /// Renames a named axis; with from == operand_axis: a product, to be kept under this name.
  bool alias = false;
  bool in_result = false;
  bool nameless = false;
  bool from_ellipsis = false;
  short column = 0;  ///< of its first mention; under `...` that of the ellipsis
};

using label_ids = inplace_vector<signed char, max_axes>;
using axis_labels = inplace_vector<label_ids, max_axes>;

/// With room for so many labels, for so many operands, and on a side of the pattern for so many axes, each of
/// so many labels. A compiler that keeps one as a constant pays for all of that room.
template <std::size_t Labels, std::size_t Operands, std::size_t Axes, std::size_t Parts>
struct basic_meaning {
  using axis = inplace_vector<signed char, Parts>;
  using side = inplace_vector<axis, Axes>;

  error why;  ///< if set, the rest says nothing
  inplace_vector<label, Labels> labels;
  /// For each axis its labels, outer to inner: none for a unit axis (and for a nameless axis of size 1
  /// that `...` stretches in einsum), several where it comes apart; in operands a label may repeat
  /// (diagonal).
  inplace_vector<side, Operands> operand;
  side result;

  constexpr std::size_t size_of(const axis& ids) const {
    std::size_t n = 1;
    for (const signed char id : ids) n *= labels[static_cast<std::size_t>(id)].size;
    return n;
  }
};
/// Of any pattern.
using meaning = basic_meaning<max_labels, max_operands, max_axes, max_axes>;
/// The same of so many operands.
template <std::size_t Operands>
using meaning_of_operands = basic_meaning<max_labels, (Operands > 0 ? Operands : 1), max_axes, max_axes>;
template <std::size_t Operands>
constexpr meaning_of_operands<Operands> in_room_for(const meaning& m) {
  meaning_of_operands<Operands> own{m.why, m.labels, {}, m.result};
  for (std::size_t k = 0; k < m.operand.size() && k < Operands; ++k)
    own.operand.push_back(m.operand.items[k]);
  return own;
}
/// Of a pattern whose labels are one for each axis, of operands with so many axes together.
template <std::size_t Operands, std::size_t Axes>
using plain_meaning =
    basic_meaning<(Axes > 0 ? Axes : 1), (Operands > 0 ? Operands : 1), (Axes > 0 ? Axes : 1), 1>;

}  // namespace napkin::pattern
