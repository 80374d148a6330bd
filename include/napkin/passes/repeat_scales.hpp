// Of a graph in 8-bit floats (passes/quantize.hpp) that lacks some of a model's equal layers: which of its
// scales, reciprocals and largest magnitudes are layers', so that the plan of the whole has those of the
// layers that are put back (plan/repeat.hpp). Tensors are numbered by layers, values first, then adjoints;
// whose one is, says the parameter that its first product multiplies.
#pragma once

#include "napkin/passes/repeats.hpp"

namespace napkin {

namespace passes {

namespace detail {

/// Of rounded tensors, by number: which are layers', of values and of adjoints.
struct layered_tensors {
  inplace_vector<layered, 2> runs;
  bool found = false;  // else one layer's are not as the next one's, and nothing is known
};

/// Of rounded tensors by number: the parameter whose layer each belongs to, and how many rows it has.
struct rounded_tensors {
  buffer<std::int32_t> origins;
  buffer<std::size_t> rows;

  constexpr rounded_tensors(const graph_view& g, std::int32_t first_scale, std::int32_t first_output)
      : origins(g.output_count - static_cast<std::size_t>(first_output), -1) {
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.node_count); ++id) {
      if (g.nodes[id].kind != op::input) continue;
      const std::int32_t number = g.attribute(id, 0) - first_scale;
      if (number >= 0 && number < count()) origins.items[number] = g.nodes[id].origin;
    }
    rows.reserve(origins.size());
    for (std::size_t o = static_cast<std::size_t>(first_output); o < g.output_count; ++o)
      rows.push_back(numel(g.shape_of(g.outputs[o])));
  }
  constexpr std::int32_t count() const { return static_cast<std::int32_t>(origins.size()); }
};

/// Each layer has as many as layer 1. Layer 0 may have some more before those, the last layer some behind:
/// they stay outside of what is put back.
constexpr layered_tensors find_layered(const rounded_tensors& tensors, const left_out& cut) {
  const layered& parameters = cut.origins[0];
  const auto layer_of = [&](std::int32_t i) {
    const std::int32_t before = tensors.origins.items[i] - parameters.first;
    return before < 0 ? -1 : before / parameters.each;
  };
  layered_tensors made;
  std::int32_t from = 0;  // behind what is known to be layers'
  for (std::int32_t i = 0; i < tensors.count(); ++i) {
    const std::int32_t layer = layer_of(i);
    if (layer < 1 || layer >= cut.kept - 1) continue;
    std::int32_t each = 1;
    while (i + each < tensors.count() && layer_of(i + each) == layer) ++each;
    const layered run{i - each, each};
    const std::int32_t end = cut.end_of(run);
    if (layer != 1 || run.first < from || end > tensors.count() || made.runs.size() == 2) return {};
    for (std::int32_t k = run.first; k < end - each; ++k)
      if (tensors.origins.items[k] + parameters.each != tensors.origins.items[k + each] ||
          tensors.rows.items[k] != tensors.rows.items[k + each])
        return {};
    made.runs.push_back(run);
    from = end;
    i = end - 1;
  }
  made.found = true;
  return made;
}

}  // namespace detail

/// The cut of a loss and its gradients to `parameters` nodes, g, with what passes::quantize_products has
/// added: its scales are inputs `first_scale` on. No copies: g does not show which tensors are whose.
constexpr left_out with_scales(left_out cut, const graph_view& g, std::int32_t first_scale,
                               std::size_t parameters) {
  const std::int32_t first_output = 1 + static_cast<std::int32_t>(parameters);
  const detail::rounded_tensors tensors(g, first_scale, first_output);
  const detail::layered_tensors layers = detail::find_layered(tensors, cut);
  if (!layers.found) return {};
  for (const std::int32_t first : {first_scale, first_scale + tensors.count()})
    for (const layered& run : layers.runs) cut.inputs.push_back({first + run.first, run.each});
  for (const layered& run : layers.runs) cut.outputs.push_back({first_output + run.first, run.each});
  return cut;
}

/// Of each output from `first` on the elements, in the whole of which g is what `cut` has left.
constexpr buffer<std::size_t> elements_in_whole(const graph_view& g, const left_out& cut, std::size_t first) {
  buffer<std::size_t> elements;
  for (std::size_t o = first; o < g.output_count; ++o) {
    elements.push_back(numel(g.shape_of(g.outputs[o])));
    for (const layered& x : cut.outputs) {
      const auto begin = static_cast<std::size_t>(x.first), each = static_cast<std::size_t>(x.each);
      if (o + 1 != begin + each) continue;
      for (std::int32_t copy = 0; copy < cut.copies; ++copy)
        for (std::size_t k = begin; k <= o; ++k) elements.push_back(numel(g.shape_of(g.outputs[k])));
    }
  }
  return elements;
}

}  // namespace passes
}  // namespace napkin
