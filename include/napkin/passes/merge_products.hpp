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
// stay apart: of one tensor all would be kept. Sums have the terms that they had; what adds up the operand's
// adjoint does so within the product, and does not round between.
#pragma once

#include "napkin/ops/composite.hpp"
#include "napkin/ops/primitives/contraction.hpp"
#include "napkin/passes/legalize.hpp"
#include "napkin/passes/stored_parameters.hpp"

namespace napkin {

namespace passes {

namespace detail {

class product_merger {
 public:
  constexpr product_merger(const graph_view& graph, std::uint64_t launch, const storing_rule& rule)
      : g_(graph),
        rule_(rule),
        launch_(static_cast<std::int64_t>(launch)),
        reads_(graph.size(), 0),
        group_of_(graph.size(), -1),
        now_(graph.size(), -1),
        varies_(graph.size(), false),
        tensor_of_(static_cast<std::size_t>(rule.parameters), -1),
        is_left_out_(graph.size(), false) {
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      varies_.items[id] = g_.nodes[id].kind == op::input;
      for (const std::int32_t x : g_.operands(id)) {
        ++reads_.items[x];
        if (varies_.items[x]) varies_.items[id] = true;
      }
    }
    for (const std::int32_t out : g_.output_ids()) reads_.items[out] += 2;
  }

  constexpr graph run() {
    find_groups();
    if (groups_.empty()) return same_graph(g_);
    b_.result.nodes.reserve(g_.size() + 16 * groups_.size());
    b_.result.pool.reserve(g_.pool_count + 64 * groups_.size());
    b_.result.shapes.append(g_.shapes, g_.shape_count);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      // a part of what was made for its group, or of how its parameter came there
      if (now_.items[id] >= 0 || is_left_out_.items[id]) continue;
      if (const std::int32_t u = group_of_.items[id]; u >= 0) {
        if (groups_.items[u].first == id) merge(groups_.items[u]);
        continue;
      }
      if (g_.nodes[id].kind == op::input)
        copy_input(id);
      else
        copy(id);
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    // Inputs are outputs for a moment: parameters stay the first nodes, read or not.
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (g_.nodes[id].kind == op::input && now_.items[id] >= 0) b_.output(now_.items[id]);
    graph made = without_dead_nodes(b_.take());
    made.outputs.resize(g_.output_count);
    return made;
  }

  /// Where run() has its parameters, in order.
  constexpr buffer<stored_parameter> find_stored() {
    find_groups();
    buffer<stored_parameter> all;
    for (std::int32_t p = 0; p < rule_.parameters; ++p)
      all.push_back({slot_now(p), 1, 0, numel(g_.shape_of(node_of_slot(p)))});
    for (const tensor& t : tensors_)
      for (const std::int32_t p : t.members) {
        stored_parameter& now = all.items[p];
        now = {slot_now(t.first()), t.rows, 0, 0};
        for (const std::int32_t q : t.members) {
          const std::size_t piece = numel(g_.shape_of(node_of_slot(q))) / t.rows;
          now.stride += piece;
          if (q == p) now.start = now.stride - piece;
        }
      }
    return all;
  }

 private:
  static constexpr std::size_t most = most_stored_as_one;  // products of a group
  static constexpr std::size_t longest = 6;                // nodes of one's chain

  /// A product of x, whose labels come first in its result and in their order, and of a parameter, whose own
  /// labels follow.
  struct form {
    int x = -1, parameter = -1;
    std::size_t at = 0;                                  // operand x's place
    bool summed_first = true;                            // of the parameter's axes; else its own are
    std::size_t own = 0, summed = 0;                     // axes of the parameter
    std::size_t columns = 0, terms = 0;                  // elements of these
    inplace_vector<std::int32_t, max_rank> summed_of_x;  // for each, the axis of x

    constexpr bool is_like(const form& f) const {
      bool same = x == f.x && at == f.at && summed == f.summed &&
                  summed_of_x.size() == f.summed_of_x.size() && (summed_first == f.summed_first);
      for (std::size_t i = 0; same && i < summed_of_x.size(); ++i) same = summed_of_x[i] == f.summed_of_x[i];
      return same;
    }
  };
  /// A product, and what follows it: chain[i] reads chain[i - 1] and nothing else does.
  struct member {
    form of;
    inplace_vector<std::int32_t, longest> chain;
  };
  struct group {
    int first = -1;
    std::size_t chain = 1;  // nodes that all members have alike
    inplace_vector<member, most> members;
    // By node of the chain: of what it reads beside x or the one before, the number among tensors_; -1: parts
    // are joined in each step, or it reads nothing
    inplace_vector<std::int32_t, longest> tensors;
  };
  /// Parameters that are stored as one, by slot, in the order of their products: a piece of each is a row.
  struct tensor {
    std::size_t rows = 1;
    shape whole;
    inplace_vector<std::int32_t, most> members;
    std::int32_t node = -1;  // among what is made
    constexpr std::int32_t first() const {
      std::int32_t lowest = members[0];
      for (const std::int32_t p : members)
        if (p < lowest) lowest = p;
      return lowest;
    }
  };

  graph_view g_;
  storing_rule rule_;
  std::int64_t launch_;            // bytes
  buffer<std::int32_t> reads_;     // by node: how often it is read; an output is twice more
  buffer<std::int32_t> group_of_;  // by node: that it is a part of
  buffer<std::int32_t> now_, operands_;
  buffer<bool> varies_;  // by node: not made of constants alone
  buffer<group> groups_;
  buffer<tensor> tensors_;
  buffer<std::int32_t> tensor_of_;  // by slot
  buffer<bool> is_left_out_;        // by node: what a tensor's parameters went through, each by itself
  builder b_;                       // does not simplify: nodes are as they were

  // ---- what is one

  constexpr int before_cast(int x) const { return g_.nodes[x].kind == op::cast ? g_.operand(x, 0) : x; }
  constexpr bool find_form(int id, std::size_t at, form& f) const {
    const node& n = g_.nodes[id];
    const row::einsum_labels labels(g_, id);
    const ids of_x = labels.operand(at), of_w = labels.operand(1 - at), result = labels.result();
    const int x = g_.operand(id, static_cast<int>(at)), w = g_.operand(id, static_cast<int>(1 - at));
    if (before_cast(x) == before_cast(w) || g_.nodes[before_cast(w)].kind != op::input ||
        g_.nodes[w].type != n.type)
      return false;
    f = {};
    f.x = x, f.parameter = before_cast(w), f.at = at, f.columns = f.terms = 1;
    const shape& s = g_.shape_of(w);
    for (std::size_t i = 0; i < of_w.size(); ++i) {
      const bool sums = !row::has_label(result, of_w[i]);
      if (sums != row::has_label(of_x, of_w[i])) return false;  // a batch's, or summed alone
      if (i == 0) f.summed_first = sums;
      // one stretch of each kind
      if (i > 0 && sums == f.summed_first && (f.summed_first ? f.own : f.summed) > 0) return false;
      ++(sums ? f.summed : f.own);
      (sums ? f.terms : f.columns) *= s[i];
      if (!sums) continue;
      for (std::size_t k = 0; k < of_x.size(); ++k)
        if (of_x[k] == of_w[i]) f.summed_of_x.push_back(static_cast<std::int32_t>(k));
    }
    if (f.own == 0 || f.summed == 0 || f.summed_of_x.size() != f.summed) return false;
    std::size_t next = 0;
    for (const std::int32_t l : of_x)
      if (!row::has_label(of_w, l) && (next >= result.size() || result[next++] != l)) return false;
    for (const std::int32_t l : of_w)
      if (row::has_label(result, l) && (next >= result.size() || result[next++] != l)) return false;
    return next == result.size() && next == of_x.size() - f.summed + f.own;
  }
  /// Parts begin at multiples of 16 bytes, whatever they are rounded to.
  static constexpr std::size_t alignment = 16;
  constexpr bool find_form(int id, form& f) const {
    const node& n = g_.nodes[id];
    if (n.kind != op::einsum || n.arity != 2 || !is_floating(n.type) || n.when != computed::once)
      return false;
    return (find_form(id, 0, f) || find_form(id, 1, f)) && f.columns % alignment == 0;
  }

  constexpr void find_groups() {
    buffer<std::int32_t> products;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (g_.nodes[id].kind == op::einsum) products.push_back(id);
    for (std::size_t i = 0; i < products.size(); ++i) {
      const std::int32_t first = products[i];
      group made;
      form f;
      if (group_of_.items[first] >= 0 || !find_form(first, f)) continue;
      made.first = first;
      made.members.push_back({f, {first}});
      for (std::size_t k = i + 1; k < products.size() && made.members.size() < most; ++k) {
        form next;
        if (group_of_.items[products[k]] < 0 && shares_operand(products[k], f.x) &&
            find_form(products[k], next) && next.is_like(f) && next.parameter < first &&
            g_.nodes[products[k]].type == g_.nodes[first].type && !holds(made, next.parameter) &&
            g_.nodes[next.parameter].type == g_.nodes[f.parameter].type &&
            is_kept(products[k]) == is_kept(first))
          made.members.push_back({next, {products[k]}});
      }
      if (made.members.size() == 1) continue;
      follow(made);
      for (std::size_t k = 0; k < made.chain; ++k) made.tensors.push_back(may_store(made, k) ? 0 : -1);
      if (!pays(made)) continue;
      for (std::size_t k = 0; k < made.chain; ++k)
        if (made.tensors[k] >= 0) store(made, k);
      for (const member& m : made.members)
        for (std::size_t k = 0; k < made.chain; ++k)
          group_of_.items[m.chain[k]] = static_cast<std::int32_t>(groups_.size());
      groups_.push_back(made);
    }
  }

  // ---- parameters that are stored as one

  /// f(node) for what parameters go through to node k of m's chain, from the reader on; the last is an input.
  constexpr void for_each_on_the_way(const member& m, std::size_t k, auto f) const {
    int x = k == 0 ? g_.operand(m.chain[0], static_cast<int>(1 - m.of.at)) : added_to(m.chain[k], m);
    for (; g_.nodes[x].kind != op::input; x = g_.operand(x, 0)) f(x);
    f(x);
  }
  constexpr std::int32_t slot_of(const member& m, std::size_t k) const {
    std::int32_t last = -1;
    for_each_on_the_way(m, k, [&](int x) { last = x; });
    return g_.attribute(last, 0);
  }
  /// Node k of each member's chain reads a parameter that nothing else does, and all are one layer's.
  constexpr bool may_store(const group& of, std::size_t k) const {
    if (k > 0 && g_.nodes[of.members[0].chain[k]].kind != op::add) return false;
    const std::int32_t layer = rule_.layer_of(slot_of(of.members[0], k));
    bool may = true;
    for (const member& m : of.members) {
      const std::int32_t slot = slot_of(m, k);
      may = may && slot < rule_.parameters && rule_.layer_of(slot) == layer;
      for_each_on_the_way(m, k, [&](int x) { may = may && reads_.items[x] == 1; });
    }
    return may;
  }
  constexpr void store(group& of, std::size_t k) {
    const form& f = of.members[0].of;
    tensor made;
    made.rows = k == 0 && f.summed_first ? f.terms : 1;
    made.whole = k == 0 ? weights_of(of.members[0], columns_of(of)) : shape{columns_of(of)};
    of.tensors[k] = static_cast<std::int32_t>(tensors_.size());
    for (const member& m : of.members) {
      const std::int32_t slot = slot_of(m, k);
      made.members.push_back(slot);
      tensor_of_.items[slot] = of.tensors[k];
      for_each_on_the_way(m, k, [&](int x) { is_left_out_.items[x] = g_.nodes[x].kind != op::input; });
    }
    tensors_.push_back(made);
  }
  constexpr bool is_first_of_tensor(std::int32_t slot) const {
    return tensor_of_.items[slot] < 0 || tensors_.items[tensor_of_.items[slot]].first() == slot;
  }
  /// Of an input that is one still.
  constexpr std::int32_t slot_now(std::int32_t slot) const {
    std::int32_t now = slot;
    for (std::int32_t p = 0; p < rule_.parameters && p < slot; ++p) now -= !is_first_of_tensor(p);
    return now;
  }
  constexpr int node_of_slot(std::int32_t slot) const {
    int id = 0;
    while (g_.nodes[id].kind != op::input || g_.attribute(id, 0) != slot) ++id;
    return id;
  }
  constexpr void copy_input(int id) {
    const std::int32_t slot = g_.attribute(id, 0);
    const node& n = g_.nodes[id];
    stamp(id);
    if (slot >= rule_.parameters || tensor_of_.items[slot] < 0) {
      now_.items[id] = b_.input(slot_now(slot), n.type, shape(g_.shape_of(id)));
      return;
    }
    tensor& t = tensors_.items[tensor_of_.items[slot]];
    if (t.first() == slot) t.node = now_.items[id] = b_.input(slot_now(slot), n.type, t.whole);
  }

  // ---- what a group is
  constexpr bool shares_operand(int id, int x) const {
    for (const std::int32_t y : g_.operands(id))
      if (x == y) return true;
    return false;
  }
  /// Whether an operation's gradient needs node id itself: what multiplies it by something that varies, or is
  /// not linear.
  constexpr bool is_kept(int id) const {
    for (int r = id + 1; r < static_cast<int>(g_.size()); ++r) {
      if (!shares_operand(r, id)) continue;
      const op kind = g_.nodes[r].kind;
      if (kind == op::cast || is_view(kind) || kind == op::add || kind == op::sub || kind == op::neg ||
          kind == op::sum) {
        if (is_kept(r)) return true;
      } else if (kind != op::mul || varies_.items[g_.operand(r, g_.operand(r, 0) == id ? 1 : 0)]) {
        return true;
      }
    }
    return false;
  }
  static constexpr bool holds(const group& of, int parameter) {
    for (const member& m : of.members)
      if (m.of.parameter == parameter) return true;
    return false;
  }
  /// Of each product but one, x is read twice less, once for the result and once for a gradient, and its
  /// adjoint is neither written nor read. Parameters that are not stored as one are read and written once
  /// more as they are joined, in the dtype that is computed in or, to be rounded to 8 bits, in f32, and so is
  /// their gradient as it is taken apart, in f32. Parts of one shape are a launch then
  /// (passes/join_kernels.hpp), and each product less is three less; of 8-bit floats parameters were rounded
  /// by one launch for each, and one in the backward pass.
  constexpr bool pays(const group& of) const {
    const form& f = of.members[0].of;
    const bool joins = of.tensors[0] < 0;
    const auto members = static_cast<std::int64_t>(of.members.size());
    const std::size_t joined = is_quantized(of) ? sizeof(float) : size_of(g_.nodes[of.first].type);
    const auto of_x = static_cast<std::int64_t>(numel(g_.shape_of(f.x)) * size_of(g_.nodes[f.x].type));
    const std::int64_t of_parameters =
        joins ? static_cast<std::int64_t>(f.terms * columns_of(of) * 2 * (joined + sizeof(float))) : 0;
    std::int64_t joins_of_vectors = 0;
    for (std::size_t k = 1; k < of.chain; ++k)
      joins_of_vectors += g_.nodes[of.members[0].chain[k]].kind == op::add && of.tensors[k] < 0;
    std::int64_t shapes = 0;
    for (std::size_t i = 0; i < of.members.size(); ++i) {
      bool is_new = true;
      for (std::size_t k = 0; k < i; ++k)
        is_new = is_new && of.members[k].of.columns != of.members[i].of.columns;
      shapes += is_new;
    }
    const std::int64_t launches = shapes * 2 * (joins + joins_of_vectors) -
                                  (is_quantized(of) ? 2 * (members - !joins) : 0) - 3 * (members - 1);
    return 4 * (members - 1) * of_x > of_parameters + launches * launch_;
  }

  static constexpr std::size_t columns_of(const group& of) {
    std::size_t columns = 0;
    for (const member& m : of.members) columns += m.of.columns;
    return columns;
  }
  /// Of the parameter of a product, or of several with `columns` in all, as a matrix with one axis of
  /// columns.
  constexpr shape weights_of(const member& m, std::size_t columns) const {
    const form& f = m.of;
    const shape& all = g_.shape_of(f.parameter);
    shape s;
    if (!f.summed_first) s.push_back(columns);
    for (std::size_t i = 0; i < f.summed; ++i) s.push_back(all[f.summed_first ? i : f.own + i]);
    if (f.summed_first) s.push_back(columns);
    return s;
  }
  constexpr bool is_quantized(const group& of) const { return is_quantized_product(g_.nodes[of.first]); }
  constexpr bool casts(const group& of) const {
    return g_.nodes[g_.operand(of.first, static_cast<int>(1 - of.members[0].of.at))].kind == op::cast;
  }

  // ---- chains

  /// As far as all members do the same to theirs, as long as the result has the products' dtype.
  constexpr void follow(group& of) const {
    const dtype type = g_.nodes[of.first].type;
    for (std::size_t at = 1; at < longest; ++at) {
      for (member& m : of.members) {
        const int next = only_reader(m.chain.back());
        if (next < 0 || !is_like(next, m, of)) return;
        m.chain.push_back(next);
      }
      if (g_.nodes[of.members[0].chain.back()].type == type) of.chain = at + 1;
    }
  }
  constexpr int only_reader(int id) const {
    if (reads_.items[id] != 1) return -1;
    for (int r = id + 1; r < static_cast<int>(g_.size()); ++r)
      if (shares_operand(r, id)) return r;
    return -1;
  }
  /// Node `id`, which follows m's chain, casts, or adds a vector, as the first member's does.
  constexpr bool is_like(int id, const member& m, const group& of) const {
    const member& lead = of.members[0];
    const node& n = g_.nodes[id];
    const node& like = &lead == &m ? n : g_.nodes[lead.chain.back()];
    if (n.kind != like.kind || n.type != like.type || n.when != computed::once || id < of.first) return false;
    if (n.kind == op::cast) return is_floating(n.type);
    if (n.kind != op::add) return false;
    const int vector = vector_of(id, m);
    if (vector < 0 || before_cast(vector) >= of.first) return false;
    const int first = &lead == &m ? vector : vector_of(lead.chain.back(), lead);
    return g_.nodes[vector].type == g_.nodes[first].type &&
           g_.nodes[before_cast(vector)].type == g_.nodes[before_cast(first)].type;
  }
  /// What m's node id, a sum, reads beside the node before it in the chain.
  constexpr int added_to(int id, const member& m) const {
    return g_.operand(id, g_.operand(id, 0) == m.chain[chain_before(id, m)] ? 1 : 0);
  }
  /// What is added to m's product in its node id, before it is repeated; -1: no parameter along the
  /// product's own axes.
  constexpr int vector_of(int id, const member& m) const {
    const int repeated = before_cast(added_to(id, m));
    if (g_.nodes[repeated].kind != op::expand) return -1;
    const int vector = g_.operand(repeated, 0);
    const ids axes = g_.attributes(repeated);
    const std::size_t rows = axes.size() - m.of.own;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != (i < rows ? -1 : static_cast<std::int32_t>(i - rows))) return -1;
    return g_.nodes[before_cast(vector)].kind == op::input ? vector : -1;
  }
  /// Where in m's chain what node id reads is.
  static constexpr std::size_t chain_before(int id, const member& m) {
    std::size_t k = 0;
    while (k + 1 < m.chain.size() && m.chain[k + 1] < id) ++k;
    return k;
  }

  // ---- what comes in their place

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
  /// What x is of an input, done to `joined` inputs.
  constexpr int cast_as(int x, int joined) {
    return g_.nodes[x].kind == op::cast ? b_.cast(joined, g_.nodes[x].type) : joined;
  }

  constexpr void merge(const group& of) {
    stamp(of.first);
    const int w = g_.operand(of.first, static_cast<int>(1 - of.members[0].of.at));
    int whole = multiply(of, cast_as(w, joined_weights(of)));
    for (std::size_t k = 1; k < of.chain; ++k) whole = apply(of, k, whole);

    std::size_t start = 0;
    for (const member& m : of.members) {
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
  constexpr int joined_weights(const group& of) {
    if (of.tensors[0] >= 0) return tensors_.items[of.tensors[0]].node;
    const form& f = of.members[0].of;
    inplace_vector<std::int32_t, most> parts;
    for (const member& m : of.members) {
      const int part = b_.reshape(now_.items[m.of.parameter], weights_of(m, m.of.columns));
      const bool is_cast_as_joined = casts(of) && !is_quantized(of);  // passes/take_copies.hpp, or legalize
      parts.push_back(is_cast_as_joined ? part : copy_node(b_, part));
    }
    return b_.concat({parts.data(), parts.size()}, f.summed_first ? static_cast<int>(f.summed) : 0);
  }
  constexpr int multiply(const group& of, int joined) {
    const form& f = of.members[0].of;
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
  constexpr int joined_vectors(const group& of, std::size_t k) {
    if (of.tensors[k] >= 0) return tensors_.items[of.tensors[k]].node;
    inplace_vector<std::int32_t, most> parts;
    const bool casts = g_.nodes[vector_of(of.members[0].chain[k], of.members[0])].kind == op::cast;
    for (const member& m : of.members) {
      const int part = b_.reshape(now_.items[before_cast(vector_of(m.chain[k], m))], {m.of.columns});
      parts.push_back(casts ? part : copy_node(b_, part));
    }
    return b_.concat({parts.data(), parts.size()}, 0);
  }
  /// What node k of each member's chain does, to all of them.
  constexpr int apply(const group& of, std::size_t k, int whole) {
    const int lead = of.members[0].chain[k];
    stamp(lead);
    if (g_.nodes[lead].kind == op::cast) return b_.cast(whole, g_.nodes[lead].type);
    const int vector = cast_as(vector_of(lead, of.members[0]), joined_vectors(of, k));
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
  return detail::product_merger(g, launch, rule).run();
}
/// Where each of the rule's parameters is in what merge_products makes.
constexpr buffer<stored_parameter> stored_parameters_of(const graph_view& g, const storing_rule& rule,
                                                        std::uint64_t launch = bytes_a_launch) {
  return detail::product_merger(g, launch, rule).find_stored();
}

}  // namespace passes
}  // namespace napkin
