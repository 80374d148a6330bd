// The one middle of the library: a flat array of nodes. Models, lazy expressions and every pass speak it.
// Axes are positions here; names stop at ops/. A `graph` grows (in constant evaluation or at run time), a
// `static_graph` is its exact-size constant, a `graph_view` reads either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "napkin/core/buffer.hpp"
#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/inplace_vector.hpp"
#include "napkin/graph/ids.hpp"
#include "napkin/graph/op.hpp"

namespace napkin {

/// Sizes of the axes, outermost first; elements lie in row-major order.
using shape = inplace_vector<std::size_t, max_rank>;

constexpr std::size_t numel(const shape& s) {
  std::size_t n = 1;
  for (std::size_t size : s) n *= size;
  return n;
}

/// What the order of an einsum's pairwise contractions minimises, summed over its steps.
///   least_time   the larger of arithmetic and memory traffic (both operands read, the result written), by a
///                nominal machine; outer products and large intermediates pay for their bytes
///   least_flops  arithmetic alone: for each point of a step one multiplication, and one addition if it sums
enum class objective : std::uint8_t { least_time, least_flops };

/// What passes/recompute.hpp or passes/make_again.hpp has done: a node stays where it was, is computed in the
/// backward pass instead, or is the second of two. Nodes that differ in this are never made one.
enum class computed : std::uint8_t { once, later, again };

/// A place along an axis, or a step, as an attribute of a node: of 32 bits.
constexpr std::int32_t place_attribute(std::ptrdiff_t place) {
  if (place != static_cast<std::int32_t>(place))
    throw "a part of an axis that begins, or steps, 2^31 elements or more further on is not computed with";
  return static_cast<std::int32_t>(place);
}

/// One operation. Operands and attributes are runs in the graph's pool of integers; the shape is an index
/// into its table of distinct shapes, so that equal shapes compare as integers. What the attributes of an
/// operation mean is said in its row (ops/).
struct node {  // without defaults: room for many would take a constant evaluation some seventy steps each
  op kind;
  dtype type;
  std::uint16_t composite;  // the function that made it (softmax, layer_norm, ...), 0 for none
  std::int32_t shape_id;
  std::int32_t first_operand;
  std::int32_t arity;
  std::int32_t first_attribute;
  std::int32_t attribute_count;
  std::int32_t origin;  // the parameter whose layer made it, for reports; -1 for none
  computed when;
  double value;  // of a constant; of an einsum its objective

  constexpr bool operator==(const node&) const = default;
};

struct graph_sizes {
  std::size_t nodes, shapes, pool, outputs;
};

struct graph_view {
  const node* nodes = nullptr;
  std::size_t node_count = 0;
  const shape* shapes = nullptr;
  std::size_t shape_count = 0;
  const std::int32_t* pool = nullptr;
  std::size_t pool_count = 0;
  const std::int32_t* outputs = nullptr;
  std::size_t output_count = 0;

  // Loops over nodes have node_count for a bound: no call each round.
  constexpr std::size_t size() const { return node_count; }
  constexpr graph_sizes sizes() const { return {node_count, shape_count, pool_count, output_count}; }
  // These do not call each other: a call costs a constant evaluation as much as a loop's round.
  constexpr const node& operator[](int id) const { return nodes[id]; }
  constexpr const shape& shape_of(int id) const { return shapes[nodes[id].shape_id]; }
  constexpr int operand(int id, int k) const { return pool[nodes[id].first_operand + k]; }
  /// The slot behind those of all inputs.
  constexpr std::int32_t next_slot() const {
    std::int32_t next = 0;
    for (int id = 0; id < static_cast<int>(size()); ++id)
      if (nodes[id].kind == op::input && attribute(id, 0) >= next) next = attribute(id, 0) + 1;
    return next;
  }
  constexpr int attribute(int id, int k) const { return pool[nodes[id].first_attribute + k]; }
  constexpr ids operands(int id) const {
    const node& n = nodes[id];
    return {pool + n.first_operand, static_cast<std::size_t>(n.arity)};
  }
  constexpr ids attributes(int id) const {
    const node& n = nodes[id];
    return {pool + n.first_attribute, static_cast<std::size_t>(n.attribute_count)};
  }
  constexpr ids output_ids() const { return {outputs, output_count}; }
};

struct graph {
  buffer<node> nodes;
  buffer<shape> shapes;
  buffer<std::int32_t> pool;
  buffer<std::int32_t> outputs;

  constexpr graph_view view() const {
    return {nodes.items, nodes.count, shapes.items,  shapes.count,
            pool.items,  pool.count,  outputs.items, outputs.count};
  }
  constexpr graph_sizes sizes() const { return {nodes.count, shapes.count, pool.count, outputs.count}; }

  /// The table's index of a shape, added if new.
  constexpr std::int32_t intern(const shape& s) {
    // Shapes differ in their last axes more often than in their first.
    const std::size_t rank = s.count;
    std::size_t id = shapes.count;
    while (id-- != 0) {
      const shape& known = shapes.items[id];
      if (known.count != rank) continue;
      std::size_t k = rank;
      while (k != 0 && known.items[k - 1] == s.items[k - 1]) --k;
      if (k == 0) return static_cast<std::int32_t>(id);
    }
    shapes.push_back(s);
    return static_cast<std::int32_t>(shapes.count - 1);
  }
};

template <graph_sizes S>
struct static_graph {
  std::array<node, S.nodes> nodes{};
  std::array<shape, S.shapes> shapes{};
  std::array<std::int32_t, S.pool> pool{};
  std::array<std::int32_t, S.outputs> outputs{};

  constexpr static_graph() = default;
  constexpr explicit static_graph(const graph& g) { take(g.view()); }
  constexpr explicit static_graph(const graph_view& g) { take(g); }

  constexpr void take(const graph_view& g) {
    copy_run(g.nodes, g.node_count, nodes.data());
    copy_run(g.shapes, g.shape_count, shapes.data());
    copy_run(g.pool, g.pool_count, pool.data());
    copy_run(g.outputs, g.output_count, outputs.data());
  }
  constexpr graph_view view() const {
    return {nodes.data(), S.nodes, shapes.data(), S.shapes, pool.data(), S.pool, outputs.data(), S.outputs};
  }
};

/// A graph in arrays with room to spare: what one constant evaluation can hand to the next when nobody knows
/// the size beforehand. `counts` says how much of it is used, or would have been.
template <graph_sizes Capacity>
struct roomy_graph : static_graph<Capacity> {
  graph_sizes counts;

  constexpr explicit roomy_graph(const graph& g) : static_graph<Capacity>(), counts(g.sizes()) {
    if (fits()) this->take(g.view());
  }
  constexpr bool fits() const {
    return counts.nodes <= Capacity.nodes && counts.shapes <= Capacity.shapes &&
           counts.pool <= Capacity.pool && counts.outputs <= Capacity.outputs;
  }
  constexpr graph_view view() const {
    return {this->nodes.data(), counts.nodes, this->shapes.data(),  counts.shapes,
            this->pool.data(),  counts.pool,  this->outputs.data(), counts.outputs};
  }
};

/// Room for what a pass makes of a graph: `times` as much, and some.
constexpr graph_sizes room_for(const graph_sizes& s, std::size_t times, std::size_t outputs) {
  const auto more = [times](std::size_t n, std::size_t most) {
    return times * n + (n + 8 < most ? n + 8 : most);  // a graph of a few nodes has little besides
  };
  return {more(s.nodes, 64), more(s.shapes, 64), more(s.pool, 512), outputs};
}

/// The exact-size constant of what a function makes: `frozen<Make>::view()` where `Make::make()` returns a
/// graph in constant evaluation (memory allocated there cannot outlive it). With `Make::capacity` it is made
/// once, into arrays of that size; without, or where that was too little, twice: to count and to fill.
template <class Make>
struct frozen {
  static constexpr graph_view view() { return storage::value.view(); }

 private:
  struct made_twice {
    static constexpr graph_sizes sizes = Make::make().sizes();
    static constexpr static_graph<sizes> value{Make::make()};
  };
  template <class M>
  struct made_once {
    static constexpr roomy_graph<M::capacity> roomy{M::make()};
    static constexpr auto trim() {
      if constexpr (roomy.fits())
        return static_graph<roomy.counts>(roomy.view());
      else
        return static_graph<roomy.counts>(M::make());
    }
    static constexpr auto value = trim();
  };
  static constexpr auto choose() {
    if constexpr (requires { Make::capacity; })
      return std::type_identity<made_once<Make>>{};
    else
      return std::type_identity<made_twice>{};
  }
  using storage = typename decltype(choose())::type;
};

}  // namespace napkin
