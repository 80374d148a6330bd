// Equal layers, found in a traced graph, and left out of it: a plan for a few of them says how all are done
// (plan/repeat.hpp puts the others back), so that a deep model costs the compiler what a shallow one
// does. Nothing here knows what a layer is: only that stretches of nodes repeat, each with parameters of its
// own.
#pragma once

#include <bit>
#include <limits>

#include "napkin/core/inplace_vector.hpp"
#include "napkin/graph/graph.hpp"
#include "napkin/ops/composite.hpp"

namespace napkin {

namespace passes {

/// Nodes first_node + t * nodes on, for t < count, are alike: node for node the same operations on the same
/// shapes, reading what stretch 0 reads or what lies `nodes` later. Parameters of stretch t, by slot, are
/// first_parameter + t * parameters on, and so are their copies. Scales of 8-bit floats may lie anywhere.
struct repetition {
  std::int32_t first_node = 0, nodes = 0, count = 0;
  std::int32_t first_parameter = 0, parameters = 0;
};

namespace detail {

class repetition_finder {
 public:
  constexpr repetition_finder(const graph_view& graph, std::int32_t parameters, std::int32_t first_copy)
      : g(graph), parameter_(graph.size(), -1) {
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.node_count); ++id) {
      if (g.nodes[id].kind != op::input) continue;
      const std::int32_t slot = g.attribute(id, 0);
      if (slot < parameters)
        parameter_.items[id] = slot;
      else if (first_copy >= 0 && slot >= first_copy && slot < first_copy + parameters)
        parameter_.items[id] = slot - first_copy;
    }
  }

  constexpr repetition find() {
    // Products with parameters, as landmarks: the one in the middle recurs one stretch later.
    buffer<std::int32_t> products;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.node_count); ++id)
      if (g.nodes[id].kind == op::einsum && parameter_of(id) >= 0) products.push_back(id);
    if (products.size() < 3) return {};
    const std::size_t middle = products.size() / 2;
    repetition best;
    const auto most = static_cast<std::int32_t>(g.size() / 2);
    for (std::size_t i = middle + 1; i < products.size() && best.nodes * best.count < most; ++i) {
      const std::int32_t from = products[middle], to = products[i];
      distance = to - from;
      step = parameter_of(to) - parameter_of(from);
      origin_step = g.nodes[to].origin - g.nodes[from].origin;
      if (origin_step == 0) origin_step = step;
      if (step <= 0 || !alike(from)) continue;
      std::int32_t first = from, last = from;
      while (first > 0 && alike(first - 1)) --first;
      while (alike(last + 1)) ++last;
      const std::int32_t count = (last - first + 1) / distance + 1;
      if (count > 1 && distance * count > best.nodes * best.count && own_parameters(first))
        best = {first, distance, count, lowest, step};
    }
    return best;
  }

 private:
  graph_view g;
  buffer<std::int32_t> parameter_;      // by node: which it is, or is a copy of; -1: none
  std::int32_t distance = 0, step = 0;  // nodes, and parameters, from a stretch to the next
  std::int32_t origin_step = 0;  // parameters as the model has them, of which some may be stored as one
  std::int32_t lowest = 0;       // of a stretch's parameters

  constexpr std::int32_t parameter_of(std::int32_t id) const {
    for (std::int32_t x : g.operands(id)) {
      while (g.nodes[x].kind == op::cast || rounds_to_8_bits(g.nodes[x])) x = g.operand(x, 0);
      if (parameter_.items[x] >= 0) return parameter_.items[x];
    }
    return -1;
  }
  constexpr bool is_parameter(std::int32_t x) const { return parameter_.items[x] >= 0; }
  /// One of a stretch and the same of the next.
  constexpr bool follows(std::int32_t x, std::int32_t y) const {
    return is_parameter(y) && parameter_.items[y] == parameter_.items[x] + step &&
           g.nodes[x].type == g.nodes[y].type && g.nodes[x].shape_id == g.nodes[y].shape_id;
  }
  /// Node id and the one `distance` later.
  constexpr bool alike(std::int32_t id) const {
    if (id + distance >= static_cast<std::int32_t>(g.size())) return false;
    const node &a = g.nodes[id], &b = g.nodes[id + distance];
    if (is_scale(a) && is_scale(b)) return true;  // of a tensor each
    if (a.kind != b.kind || a.kind == op::input || a.type != b.type || a.shape_id != b.shape_id ||
        a.arity != b.arity || a.attribute_count != b.attribute_count || a.composite != b.composite ||
        (a.origin != b.origin && a.origin + origin_step != b.origin) ||
        std::bit_cast<std::uint64_t>(a.value) != std::bit_cast<std::uint64_t>(b.value))
      return false;
    for (std::int32_t k = 0; k < a.attribute_count; ++k)
      if (g.pool[a.first_attribute + k] != g.pool[b.first_attribute + k]) return false;
    for (std::int32_t k = 0; k < a.arity; ++k) {
      const std::int32_t x = g.pool[a.first_operand + k], y = g.pool[b.first_operand + k];
      if (y != x && !(is_parameter(x) ? follows(x, y) : y == x + distance)) return false;
    }
    return true;
  }
  /// The parameters that a stretch does not share with the next are `step` in number, one after another.
  constexpr bool own_parameters(std::int32_t first) {
    std::int32_t highest = -1;
    lowest = std::numeric_limits<std::int32_t>::max();
    for (std::int32_t id = first; id < first + distance; ++id)
      for (std::int32_t k = 0; k < g.nodes[id].arity; ++k) {
        const std::int32_t x = g.operand(id, k);
        if (!is_parameter(x) || g.operand(id + distance, k) == x) continue;
        const std::int32_t p = parameter_.items[x];
        if (p < lowest) lowest = p;
        if (p > highest) highest = p;
      }
    return highest - lowest + 1 == step;
  }
};

}  // namespace detail

/// A run of equal stretches around the graph's middle, of two at least, that covers half of the graph or else
/// as much as any; none: count is 0.
/// Parameters are slots 0 on; their copies (passes/take_copies.hpp), if there are any, first_copy on. Both
/// lie before all stretches.
constexpr repetition find_repetition(const graph_view& g, std::size_t parameters,
                                     std::int32_t first_copy = -1) {
  return detail::repetition_finder(g, static_cast<std::int32_t>(parameters), first_copy).find();
}

/// The graph without stretches 1 to `copies` of a repetition, and without their parameters: slots and nodes
/// close up. Stretch copies + 1 reads what stretch 0 made. An empty graph where a node outside reads what is
/// left out.
constexpr graph leave_out(const graph_view& g, const repetition& r, std::int32_t copies) {
  const std::int32_t gap = r.first_node + r.nodes, gap_nodes = copies * r.nodes;
  const std::int32_t low = r.first_parameter + r.parameters, gap_parameters = copies * r.parameters;
  const auto parameter_now = [&](std::int32_t slot) {
    return slot < low ? slot : slot < low + gap_parameters ? -1 : slot - gap_parameters;
  };
  buffer<std::int32_t> now(g.size(), -1);
  graph made;
  made.nodes.reserve(g.size());
  made.pool.reserve(g.pool_count);
  made.shapes.append(g.shapes, g.shape_count);
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.node_count); ++id) {
    if (id >= gap && id < gap + gap_nodes) {  // what the last one left out makes is stretch 0's to give
      if (id >= gap + gap_nodes - r.nodes)
        now[static_cast<std::size_t>(id)] = now[static_cast<std::size_t>(id - gap_nodes)];
      continue;
    }
    node n = g.nodes[id];
    if (n.kind == op::input && parameter_now(g.attribute(id, 0)) < 0) continue;
    const std::int32_t *operands = g.pool + n.first_operand, *attributes = g.pool + n.first_attribute;
    n.first_operand = static_cast<std::int32_t>(made.pool.size());
    for (std::int32_t k = 0; k < n.arity; ++k) {
      const std::int32_t x = now[static_cast<std::size_t>(operands[k])];
      if (x < 0) return {};
      made.pool.push_back(x);
    }
    n.first_attribute = static_cast<std::int32_t>(made.pool.size());
    made.pool.append(attributes, static_cast<std::size_t>(n.attribute_count));
    if (n.kind == op::input)
      made.pool[static_cast<std::size_t>(n.first_attribute)] = parameter_now(attributes[0]);
    // of a stretch's first nodes, a parameter of the stretch before: of the last one left out, stretch 0's
    if (n.origin >= low) n.origin -= gap_parameters;
    now[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(made.nodes.size());
    made.nodes.push_back(n);
  }
  for (std::int32_t out : g.output_ids()) {
    if (now[static_cast<std::size_t>(out)] < 0) return {};
    made.outputs.push_back(now[static_cast<std::size_t>(out)]);
  }
  return made;
}

/// Slots of inputs, or numbers of outputs, that belong to layers: `each` to a layer, one layer's behind the
/// other's from `first` on.
struct layered {
  std::int32_t first = 0, each = 0;
};

/// What a graph lacks of a whole one: `copies` stretches, after stretch 0 of the `kept` that it still has.
/// Among the whole one's inputs and outputs those of the copies lie behind stretch 0's.
struct left_out {
  std::int32_t copies = 0, kept = 0;
  std::int32_t nodes = 0;  // of each
  // In order of number. First parameters, and their gradients; without these there are no outputs. Then, of
  // 8-bit floats, scales, reciprocals and largest magnitudes, each of values and of adjoints
  // (passes/repeat_scales.hpp). Then inputs that gradients are added to. Then copies of parameters
  // (passes/take_copies.hpp).
  inplace_vector<layered, 7> inputs;
  inplace_vector<layered, 3> outputs;
  inplace_vector<layered, 1> origins;  // parameters as the model has them (node::origin)

  constexpr std::int32_t end_of(const layered& x) const { return x.first + kept * x.each; }
};

/// A cut of a graph whose stretches have parameters alone.
constexpr left_out cut_of(const repetition& found, std::int32_t copies) {
  const layered parameters{found.first_parameter, found.parameters};
  return {copies, found.count - copies, found.nodes, {parameters}, {}, {parameters}};
}
/// The same of a graph with gradients: output 1 is parameter 0's.
constexpr left_out with_gradients(left_out cut) {
  cut.outputs.push_back({cut.inputs[0].first + 1, cut.inputs[0].each});
  return cut;
}
/// The same with one input more for each parameter, parameter 0's `first`, behind all others: what its
/// gradient is added to, or a copy of it.
constexpr left_out with_one_each(left_out cut, std::size_t first) {
  cut.inputs.push_back({cut.inputs[0].first + static_cast<std::int32_t>(first), cut.inputs[0].each});
  return cut;
}

/// The einsums of stretch 0, by their numbers among the graph's: [begin, end).
struct einsum_range {
  std::int32_t begin = 0, end = 0;
};
constexpr einsum_range einsums_of_stretch(const graph_view& g, const repetition& r) {
  einsum_range in;
  for (std::int32_t id = 0; id < r.first_node + r.nodes; ++id) {
    if (g.nodes[id].kind != op::einsum) continue;
    if (id < r.first_node) ++in.begin;
    ++in.end;
  }
  return in;
}

/// The equal stretches of a model's function (a model_function_graph).
template <class Graph>
inline constexpr repetition repetition_in = find_repetition(frozen<Graph>::view(), Graph::parameters);

/// The fewest that plans are made of (plan/frozen.hpp).
inline constexpr std::int32_t few_layers = 3;

/// The function's graph with at most `Kept` of them.
template <class Graph, std::int32_t Kept>
struct shortened_graph {
  static constexpr repetition found = repetition_in<Graph>;
  static constexpr std::int32_t copies = found.count > Kept ? found.count - Kept : 0;
  static constexpr bool simplified = true;
  static constexpr graph_sizes capacity = frozen<Graph>::view().sizes();
  static constexpr graph make() {
    if (copies == 0) return {};
    return leave_out(frozen<Graph>::view(), found, copies);
  }
  /// No copies: the graph is not shortened, and what make() returns is empty.
  static constexpr left_out find_cut() {
    if (frozen<shortened_graph>::view().size() == 0) return {};
    return cut_of(found, copies);
  }
  static constexpr left_out cut = find_cut();
  static constexpr std::size_t parameters =
      Graph::parameters - static_cast<std::size_t>(cut.copies * found.parameters);

  /// How many of the whole graph an einsum stands for, by its number among this one's.
  static constexpr std::int32_t times(std::int32_t einsum) {
    return einsum >= stretch.begin && einsum < stretch.end ? 1 + cut.copies : 1;
  }

 private:
  static constexpr einsum_range stretch = einsums_of_stretch(frozen<Graph>::view(), found);
};

}  // namespace passes
}  // namespace napkin
