// Products of one operand with several parameters, made one: a layer's queries, keys and values; a gate and
// what it lets through. Apart each reads the operand once more, and so does each parameter's gradient; the
// operand's adjoint is a product for each, and their sum. Done to the graph of a loss before it is
// differentiated, so that the backward pass has one product in the place of several too:
//
//   x a, x b               ->  the parts of x [a b]
//   x a + u, x b + v       ->  the parts of x [a b] + [u v]      vectors along the products' own axes
//
// Parameters that nothing else reads may be stored as one (passes/stored_parameters.hpp), [a b] and [u v] above.
// Others stay as they are, and are joined in each step, which moves what they hold: done where the operand has
// so many more elements that less is moved in all. Results of which the backward pass reads some but not others
// stay apart: of one tensor all would be kept; so does a product whose call goes on to a GELU. Sums have the
// terms that they had; what adds up the operand's adjoint does so within the product, and does not round
// between.
#pragma once

#include "napkin/passes/product_groups.hpp"

namespace napkin {

namespace passes {

namespace detail {

class product_merger {
 public:
  constexpr product_merger(const graph_view& graph, const product_group_finder& found)
      : g_(graph), found_(found), now_(graph.size(), -1), tensor_nodes_(found.tensors().size(), -1) {}

  constexpr graph run() {
    const buffer<product_group>& groups = found_.groups();
    if (groups.empty()) return same_graph(g_);
    b_.result.nodes.reserve(g_.size() + 16 * groups.size());
    b_.result.pool.reserve(g_.pool_count + 64 * groups.size());
    b_.result.shapes.append(g_.shapes, g_.shape_count);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      if (now_.items[id] >= 0 || found_.is_left_out(id)) continue;  // a part of what was made for its group
      if (const std::int32_t u = found_.group_of(id); u >= 0) {
        if (groups[static_cast<std::size_t>(u)].first == id) merge(groups[static_cast<std::size_t>(u)]);
      } else if (g_.nodes[id].kind == op::input) {
        copy_input(id);
      } else {
        copy(id);
      }
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    // Inputs are outputs for a moment: parameters stay the first nodes, read or not.
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (g_.nodes[id].kind == op::input && now_.items[id] >= 0) b_.output(now_.items[id]);
    graph made = without_dead_nodes(b_.take());
    made.outputs.resize(g_.output_count);
    return made;
  }

 private:
  graph_view g_;
  const product_group_finder& found_;
  buffer<std::int32_t> now_, operands_;
  buffer<std::int32_t> tensor_nodes_;  // by tensor: the input that it is
  builder b_;                          // does not simplify: nodes are as they were

  constexpr void stamp(int id) {
    b_.origin = g_.nodes[id].origin;
    b_.composite = g_.nodes[id].composite;
    b_.when = g_.nodes[id].when;
  }
  constexpr void copy(int id) {
    const node& n = g_.nodes[id];
    operands_.clear();
    for (const std::int32_t x : g_.operands(id)) operands_.push_back(now_.items[x]);
    stamp(id);
    now_.items[id] = b_.emit(
        {n.kind, n.type, n.shape_id, {operands_.data(), operands_.size()}, g_.attributes(id), n.value});
  }
  constexpr void copy_input(int id) {
    const std::int32_t slot = g_.attribute(id, 0), tensor = found_.tensor_of(slot);
    const node& n = g_.nodes[id];
    stamp(id);
    if (tensor < 0) {
      now_.items[id] = b_.input(found_.slot_now(slot), n.type, shape(g_.shape_of(id)));
    } else if (const parameter_tensor& of = found_.tensors()[static_cast<std::size_t>(tensor)];
               of.first() == slot) {
      now_.items[id] = b_.input(found_.slot_now(slot), n.type, of.whole);
      tensor_nodes_.items[tensor] = now_.items[id];
    }
  }
  /// What x is of an input, done to `joined` inputs.
  constexpr int cast_as(int x, int joined) {
    return g_.nodes[x].kind == op::cast ? b_.cast(joined, g_.nodes[x].type) : joined;
  }

  constexpr void merge(const product_group& of) {
    stamp(of.first);
    const int w = g_.operand(of.first, static_cast<int>(1 - of.members[0].of.at));
    int whole = multiply(of, cast_as(w, joined_weights(of)));
    for (std::size_t k = 1; k < of.chain; ++k) whole = apply(of, k, whole);

    std::size_t start = 0;
    for (const grouped_product& m : of.members) {
      const int last = m.chain[of.chain - 1];
      stamp(last);
      shape s = b_.shape_of(whole);
      inplace_vector<std::int32_t, max_rank> from, step;
      for (std::size_t i = 0; i < s.size(); ++i) {
        from.push_back(i + 1 == s.size() ? static_cast<std::int32_t>(start) : 0);
        step.push_back(1);
      }
      s.back() = m.of.columns;
      start += m.of.columns;
      now_.items[last] = b_.reshape(
          b_.slice(whole, s, {from.data(), from.size()}, {step.data(), step.size()}), g_.shape_of(last));
    }
  }
  constexpr int joined_weights(const product_group& of) {
    if (of.tensors[0] >= 0) return tensor_nodes_.items[of.tensors[0]];
    const product_form& f = of.members[0].of;
    inplace_vector<std::int32_t, most_stored_as_one> parts;
    for (const grouped_product& m : of.members) {
      const int part = b_.reshape(now_.items[m.of.parameter], found_.weights_of(m, m.of.columns));
      const bool is_cast_as_joined =
          found_.casts(of) && !found_.is_quantized(of);  // passes/take_copies.hpp, or legalize
      parts.push_back(is_cast_as_joined ? part : copy_node(b_, part));
    }
    return b_.concat({parts.data(), parts.size()}, f.summed_first ? static_cast<int>(f.summed) : 0);
  }
  constexpr int multiply(const product_group& of, int joined) {
    const product_form& f = of.members[0].of;
    const row::einsum_labels labels(g_, of.first);
    const ids of_x = labels.operand(f.at);
    std::int32_t column = 0;
    for (const std::int32_t l : of_x) column = l >= column ? l + 1 : column;
    inplace_vector<std::int32_t, 2 * max_rank> both;
    inplace_vector<std::int32_t, max_rank> result;
    const auto add_x = [&] {
      for (const std::int32_t l : of_x) both.push_back(l);
    };
    if (f.at == 0) add_x();
    if (!f.summed_first) both.push_back(column);
    for (const std::int32_t axis : f.summed_of_x) both.push_back(of_x[static_cast<std::size_t>(axis)]);
    if (f.summed_first) both.push_back(column);
    if (f.at == 1) add_x();
    for (std::size_t i = 0; i < of_x.size(); ++i)
      if (row::has_label(labels.result(), of_x[i])) result.push_back(of_x[i]);
    result.push_back(column);
    const std::int32_t x = now_.items[f.x];
    const std::int32_t xs[] = {f.at == 0 ? x : joined, f.at == 0 ? joined : x};
    return b_.einsum(xs, {both.data(), both.size()}, {result.data(), result.size()},
                     static_cast<objective>(static_cast<int>(g_.nodes[of.first].value)));
  }
  constexpr int joined_vectors(const product_group& of, std::size_t k) {
    if (of.tensors[k] >= 0) return tensor_nodes_.items[of.tensors[k]];
    inplace_vector<std::int32_t, most_stored_as_one> parts;
    const bool casts = g_.nodes[found_.vector_of(of.members[0].chain[k], of.members[0])].kind == op::cast;
    for (const grouped_product& m : of.members) {
      const int part =
          b_.reshape(now_.items[found_.before_cast(found_.vector_of(m.chain[k], m))], {m.of.columns});
      parts.push_back(casts ? part : copy_node(b_, part));
    }
    return b_.concat({parts.data(), parts.size()}, 0);
  }
  /// What node k of each member's chain does, to all of them.
  constexpr int apply(const product_group& of, std::size_t k, int whole) {
    const int lead = of.members[0].chain[k];
    stamp(lead);
    if (g_.nodes[lead].kind == op::cast) return b_.cast(whole, g_.nodes[lead].type);
    const int vector = cast_as(found_.vector_of(lead, of.members[0]), joined_vectors(of, k));
    const shape& to = b_.shape_of(whole);
    inplace_vector<std::int32_t, max_rank> axes;
    for (std::size_t i = 0; i < to.size(); ++i) axes.push_back(i + 1 == to.size() ? 0 : -1);
    const int repeated = b_.expand(vector, shape(to), {axes.data(), axes.size()});
    return b_.add(whole, b_.cast(repeated, b_.type_of(whole)));
  }
};

}  // namespace detail

/// A loss, as it was traced, with such products made one. launch: what one costs as long as moving, in bytes.
/// Where `rule` lets parameters be stored as one, inputs are what is stored: tensors, then what is no
/// parameter.
constexpr graph merge_products(const graph_view& g, const storing_rule& rule = {},
                               std::uint64_t launch = bytes_a_launch) {
  return detail::product_merger(g, detail::product_group_finder(g, launch, rule)).run();
}
/// Where each of the rule's parameters is in what merge_products makes.
constexpr buffer<stored_parameter> stored_parameters_of(const graph_view& g, const storing_rule& rule,
                                                        std::uint64_t launch = bytes_a_launch) {
  return detail::product_group_finder(g, launch, rule).stored();
}

}  // namespace passes
}  // namespace napkin
