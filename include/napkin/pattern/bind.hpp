// What a pattern means for given operands. All operations bind by position, as einops does; the rules
// about names are the library's own and hold only for axes that have names.
#pragma once

#include <span>
#include <string_view>

#include "binder.hpp"
#include "meaning.hpp"
#include "pack_binder.hpp"
#include "plain.hpp"

namespace napkin::pattern {

namespace detail {
constexpr meaning bind(form f, std::string_view text, std::span<const operand_view> operands,
                       std::span<const given_size> given, std::span<const std::string_view> summed) {
  if (given.empty() && summed.empty()) {
    meaning plain;
    if (bind_plain(f, text, operands, plain)) return plain;
  }
  return binder(f, text, operands, given, summed).run();
}
}  // namespace detail

using detail::form;

/// What the functions below give of a pattern that names axes and does nothing else with them, in room for it
/// alone. Operands: how many; Axes: theirs together.
template <std::size_t Operands, std::size_t Axes>
struct plain_binding {
  plain_meaning<Operands, Axes> value;
  bool found;  ///< else `value` says nothing and they have to be asked

  constexpr plain_binding(form f, std::string_view pattern, std::span<const operand_view> operands,
                          bool alone)  ///< no sizes are given, no labels listed
      : found(alone && detail::bind_plain(f, pattern, operands, value)) {}
};

/// Reorder, split and merge axes: every label stands on both sides.
///
/// Shape     "b (h w) c -> b c h w" with h given: (b, h*w, c) -> (b, c, h, w)
/// Errors    meaning::why; all that einops refuses, and a label that is the name of a different axis
/// Source    einops.rearrange; laws in tests/unit/pattern/corpus.cpp
constexpr meaning bind_rearrange(std::string_view pattern, operand_view x,
                                 std::span<const given_size> given = {}) {
  return detail::bind(detail::form::rearrange, pattern, {&x, 1}, given, {});
}

/// As rearrange, save that labels may be missing in the result: those are reduced.
///
/// Shape     "b c (h 2) (w 2) -> b c h w": (b, c, 2h, 2w) -> (b, c, h, w)
/// Errors    meaning::why, as einops.reduce; a part may keep the name of the axis that it is part of
constexpr meaning bind_reduce(std::string_view pattern, operand_view x,
                              std::span<const given_size> given = {}) {
  return detail::bind(detail::form::reduce, pattern, {&x, 1}, given, {});
}

/// As rearrange, save that the result may have labels and numbers of its own: those are new axes.
///
/// Shape     "h w -> h (w r)" with r given: (h, w) -> (h, w*r)
/// Errors    meaning::why, as einops.repeat; a new label's size must be given
constexpr meaning bind_repeat(std::string_view pattern, operand_view x,
                              std::span<const given_size> given = {}) {
  return detail::bind(detail::form::repeat, pattern, {&x, 1}, given, {});
}

/// Contract operands over the labels that the result leaves out.
///
/// Shape     "b s (h d), h d e -> b s e": (b, s, h*d), (h, d, e) -> (b, s, e)
/// Rules     the axes of one label bear one name. An alias (a label that is the name of none of its axes)
///           may stand for axes of different names if none of these names is itself a label; a label that
///           is the name of one of its axes may not. An alias in one operand alone and not in the result is
///           refused unless summed lists it.
/// Errors    meaning::why. Size 1 is no wildcard, save for nameless axes under `...`. Axes under `...`
///           are not summed: numpy's choice where numpy and torch differ
/// Source    numpy.einsum (the order of a result left out; `...`), einops.einsum; composed and unit axes
/// added
constexpr meaning bind_einsum(std::string_view pattern, std::span<const operand_view> operands,
                              std::span<const std::string_view> summed = {},
                              std::span<const given_size> given = {}) {
  return detail::bind(detail::form::einsum, pattern, operands, given, summed);
}

/// Axes of several operands become one: what `*` stands for, in each, is flattened; labels go by position.
///
/// Shape     "b * e": (b, e), (b, h, w, e) -> (b, 1 + h*w, e)
/// Rules     those of einsum about names; no label stands twice
/// Errors    meaning::why, as einops.pack
constexpr pack_meaning bind_pack(std::string_view pattern, std::span<const operand_view> operands) {
  return detail::pack_binder(pattern, operands).run(false);
}

/// The packed tensor's axes: `*` stands for one.
///
/// Shape     "b * e": (b, n, e)
/// Errors    meaning::why, as einops.unpack
constexpr pack_meaning bind_unpack(std::string_view pattern, operand_view x) {
  return detail::pack_binder(pattern, {&x, 1}).run(true);
}

}  // namespace napkin::pattern
