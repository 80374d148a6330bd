// Parameters that are stored as one tensor, so that one product multiplies by all of them as they lie: a row of
// each, then the next row of each. Which those are is found in a loss (passes/merge_products.hpp); whoever lays
// out memory puts each of them where it says.
#pragma once

#include <array>

#include "napkin/passes/repeats.hpp"

namespace napkin::passes {

/// As many are, at most.
inline constexpr std::size_t most_stored_as_one = 4;

/// Of a parameter's elements, in order: where they lie in the tensor that it is stored as, or in. `rows`
/// pieces of one length, `stride` elements from one to the next, the first `start` behind the tensor's
/// beginning.
struct stored_parameter {
  std::int32_t tensor = 0;  // by number; tensors are in the order of the first parameters in them
  std::size_t rows = 1, start = 0, stride = 0;

  constexpr bool operator==(const stored_parameter&) const = default;
};

/// Which parameters may be stored as one: slots 0 to `parameters` - 1, not those of two equal layers, so that
/// each layer has tensors of its own.
struct storing_rule {
  std::int32_t parameters = 0;
  repetition layers;

  constexpr std::int32_t layer_of(std::int32_t slot) const {
    const std::int32_t before = slot - layers.first_parameter;
    return before < 0 || before >= layers.count * layers.parameters ? -1 : before / layers.parameters;
  }
};

/// Of a model's function, or of one with few of its equal layers. Where no layer is ever left out it is all
/// one.
template <class Graph>
constexpr storing_rule storing_rule_of() {
  storing_rule rule{static_cast<std::int32_t>(Graph::parameters), {}};
  if constexpr (requires { Graph::found; }) {
    rule.layers = Graph::found;
    rule.layers.count -= Graph::copies;
  } else if constexpr (shortened_graph<Graph, few_layers>::cut.copies > 0) {
    rule.layers = repetition_in<Graph>;
  }
  return rule;
}

/// As a constant is to have them.
template <std::size_t Parameters>
constexpr std::array<stored_parameter, Parameters> as_array(const buffer<stored_parameter>& stored) {
  std::array<stored_parameter, Parameters> all{};
  copy_run(stored.data(), Parameters, all.data());
  return all;
}

/// Each by itself. `table`: of each its `count` of elements.
template <class Parameter, std::size_t Parameters>
constexpr std::array<stored_parameter, Parameters> stored_apart(
    const std::array<Parameter, Parameters>& table) {
  std::array<stored_parameter, Parameters> all{};
  for (std::size_t p = 0; p < Parameters; ++p) all[p] = {static_cast<std::int32_t>(p), 1, 0, table[p].count};
  return all;
}

/// Tensors that such parameters are stored as.
constexpr std::size_t count_tensors(const auto& stored) {
  std::int32_t count = 0;
  for (const stored_parameter& p : stored)
    if (p.tensor >= count) count = p.tensor + 1;
  return static_cast<std::size_t>(count);
}

/// The tensors of layers that have these parameters.
constexpr layered layered_tensors_of(const auto& stored, const layered& parameters) {
  layered tensors;
  std::int32_t end = 0;
  for (std::int32_t p = 0; p < parameters.first + parameters.each; ++p) {
    std::int32_t& most = p < parameters.first ? tensors.first : end;
    const std::int32_t behind = stored[static_cast<std::size_t>(p)].tensor + 1;
    if (behind > most) most = behind;
  }
  tensors.each = end > tensors.first ? end - tensors.first : 0;
  return tensors;
}

/// Whether each layer that a graph has left stores its parameters as the first does.
constexpr bool layers_are_alike(const auto& stored, const left_out& cut) {
  const layered layer = cut.origins[0], tensors = layered_tensors_of(stored, layer);
  for (std::int32_t k = 1; k < cut.kept; ++k)
    for (std::int32_t p = layer.first; p < layer.first + layer.each; ++p) {
      stored_parameter expected = stored[static_cast<std::size_t>(p)];
      if (expected.tensor >= tensors.first) expected.tensor += k * tensors.each;
      if (stored[static_cast<std::size_t>(p + k * layer.each)] != expected) return false;
    }
  return true;
}

/// Of so many parameters, where `few` are those of a graph that lacks what `cut` says.
constexpr buffer<stored_parameter> with_layers_left_out(const auto& few, const left_out& cut,
                                                        std::size_t parameters) {
  const layered layer = cut.origins[0], tensors = layered_tensors_of(few, layer);
  buffer<stored_parameter> all;
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(parameters); ++p) {
    const std::int32_t behind = p - layer.first - layer.each;  // the first layer
    const std::int32_t layers = behind < 0                         ? 0
                                : behind < cut.copies * layer.each ? 1 + behind / layer.each
                                                                   : cut.copies;
    stored_parameter now = few[static_cast<std::size_t>(p - layers * layer.each)];
    if (now.tensor >= tensors.first) now.tensor += layers * tensors.each;
    all.push_back(now);
  }
  return all;
}

}  // namespace napkin::passes
