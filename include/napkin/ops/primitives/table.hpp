// The whole table, and how code that has an operation as a value reaches its row.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "napkin/ops/primitives/attention.hpp"
#include "napkin/ops/primitives/contraction.hpp"
#include "napkin/ops/primitives/elementwise.hpp"
#include "napkin/ops/primitives/indexing.hpp"
#include "napkin/ops/primitives/leaf.hpp"
#include "napkin/ops/primitives/movement.hpp"
#include "napkin/ops/primitives/reduction.hpp"

namespace napkin {

/// The part of a row that is plain data.
struct primitive_facts {
  std::string_view name;
  int arity;
  int flops;
  int transcendental;
  int examples;
  bool differentiable;
};

namespace detail {
template <class Row>
constexpr primitive_facts facts_from() {
  return {Row::name, Row::arity, Row::flops, Row::transcendental, Row::examples, Row::differentiable};
}
template <std::size_t... I>
constexpr std::array<primitive_facts, op_count> all_facts(std::index_sequence<I...>) {
  return {facts_from<primitive<static_cast<op>(I)>>()...};
}
}  // namespace detail

inline constexpr std::array<primitive_facts, op_count> primitives =
    detail::all_facts(std::make_index_sequence<op_count>{});

constexpr const primitive_facts& facts_of(op o) { return primitives[static_cast<std::size_t>(o)]; }

namespace detail {
/// By halves: a constant evaluation pays for each comparison.
template <std::size_t First, std::size_t Count, class F>
constexpr void with_primitive_among(std::size_t o, F& f) {
  if constexpr (Count == 1)
    f(primitive<static_cast<op>(First)>{});
  else if (o < First + Count / 2)
    with_primitive_among<First, Count / 2>(o, f);
  else
    with_primitive_among<First + Count / 2, Count - Count / 2>(o, f);
}
}  // namespace detail

/// f(primitive<O>{}) for the row of an operation known only as a value.
template <class F>
constexpr void with_primitive(op o, F&& f) {
  detail::with_primitive_among<0, op_count>(static_cast<std::size_t>(o), f);
}

}  // namespace napkin
