// Which products of one operand with several parameters are to be one (passes/merge_products.hpp), what follows each
// of them alike, and which of their parameters are stored as one tensor.
#pragma once

#include "napkin/ops/composite.hpp"
#include "napkin/ops/primitives/contraction.hpp"
#include "napkin/passes/legalize.hpp"
#include "napkin/passes/stored_parameters.hpp"

namespace napkin {

namespace passes {

namespace detail {

inline constexpr std::size_t longest_chain = 6;  // nodes

/// A product of x, whose labels come first in its result and in their order, and of a parameter, whose own
/// labels follow.
struct product_form {
  int x = -1, parameter = -1;
  std::size_t at = 0;                                  // operand x's place
  bool summed_first = true;                            // of the parameter's axes; else its own are
  std::size_t own = 0, summed = 0;                     // axes of the parameter
  std::size_t columns = 0, terms = 0;                  // elements of these
  inplace_vector<std::int32_t, max_rank> summed_of_x;  // for each, the axis of x

  constexpr bool is_like(const product_form& f) const {
    bool same = x == f.x && at == f.at && summed == f.summed && summed_of_x.size() == f.summed_of_x.size() &&
                (summed_first == f.summed_first);
    for (std::size_t i = 0; same && i < summed_of_x.size(); ++i) same = summed_of_x[i] == f.summed_of_x[i];
    return same;
  }
};
/// A product, and what follows it: chain[i] reads chain[i - 1] and nothing else does.
struct grouped_product {
  product_form of;
  inplace_vector<std::int32_t, longest_chain> chain;
};
struct product_group {
  int first = -1;
  std::size_t chain = 1;  // nodes that all members have alike
  inplace_vector<grouped_product, most_stored_as_one> members;
  // By node of the chain: of what it reads beside x or the one before, the number among tensors(); -1: parts
  // are joined in each step, or it reads nothing
  inplace_vector<std::int32_t, longest_chain> tensors;
};
/// Parameters that are stored as one, by slot, in the order of their products: a piece of each is a row.
struct parameter_tensor {
  std::size_t rows = 1;
  shape whole;
  inplace_vector<std::int32_t, most_stored_as_one> members;
  constexpr std::int32_t first() const {
    std::int32_t lowest = members[0];
    for (const std::int32_t p : members)
      if (p < lowest) lowest = p;
    return lowest;
  }
};

class product_group_finder {
 public:
  /// launch: bytes that one costs as long as moving.
  constexpr product_group_finder(const graph_view& graph, std::uint64_t launch, const storing_rule& rule)
      : g_(graph),
        rule_(rule),
        launch_(static_cast<std::int64_t>(launch)),
        reads_(graph.size(), 0),
        group_of_(graph.size(), -1),
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
    find_groups();
  }

  constexpr const buffer<product_group>& groups() const { return groups_; }
  constexpr const buffer<parameter_tensor>& tensors() const { return tensors_; }
  /// By node: the group that it is a part of; -1: none.
  constexpr std::int32_t group_of(int id) const { return group_of_.items[id]; }
  /// By slot of an input: the tensor that it is stored in with others; -1: it is apart.
  constexpr std::int32_t tensor_of(std::int32_t slot) const {
    return slot < rule_.parameters ? tensor_of_.items[slot] : -1;
  }
  /// By node: what a tensor's parameters went through, each by itself.
  constexpr bool is_left_out(int id) const { return is_left_out_.items[id]; }
  /// Of an input that is one still.
  constexpr std::int32_t slot_now(std::int32_t slot) const {
    std::int32_t now = slot;
    for (std::int32_t p = 0; p < rule_.parameters && p < slot; ++p) now -= !is_first_of_tensor(p);
    return now;
  }
  /// Where each of the rule's parameters is, in order.
  constexpr buffer<stored_parameter> stored() const {
    buffer<stored_parameter> all;
    for (std::int32_t p = 0; p < rule_.parameters; ++p)
      all.push_back({slot_now(p), 1, 0, numel(g_.shape_of(node_of_slot(p)))});
    for (const parameter_tensor& t : tensors_)
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

  // Of a group's members.
  constexpr int before_cast(int x) const { return g_.nodes[x].kind == op::cast ? g_.operand(x, 0) : x; }
  /// Of the parameter of a product, or of several with `columns` in all, as a matrix with one axis of
  /// columns.
  constexpr shape weights_of(const grouped_product& m, std::size_t columns) const {
    const product_form& f = m.of;
    const shape& all = g_.shape_of(f.parameter);
    shape s;
    if (!f.summed_first) s.push_back(columns);
    for (std::size_t i = 0; i < f.summed; ++i) s.push_back(all[f.summed_first ? i : f.own + i]);
    if (f.summed_first) s.push_back(columns);
    return s;
  }
  constexpr bool is_quantized(const product_group& of) const {
    return is_quantized_product(g_.nodes[of.first]);
  }
  constexpr bool casts(const product_group& of) const {
    return g_.nodes[g_.operand(of.first, static_cast<int>(1 - of.members[0].of.at))].kind == op::cast;
  }
  /// What is added to m's product in its node id, before it is repeated; -1: no parameter along the
  /// product's own axes.
  constexpr int vector_of(int id, const grouped_product& m) const {
    const int repeated = before_cast(added_to(id, m));
    if (g_.nodes[repeated].kind != op::expand) return -1;
    const int vector = g_.operand(repeated, 0);
    const ids axes = g_.attributes(repeated);
    const std::size_t rows = axes.size() - m.of.own;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != (i < rows ? -1 : static_cast<std::int32_t>(i - rows))) return -1;
    return g_.nodes[before_cast(vector)].kind == op::input ? vector : -1;
  }

 private:
  graph_view g_;
  storing_rule rule_;
  std::int64_t launch_;            // bytes
  buffer<std::int32_t> reads_;     // by node: how often it is read; an output is twice more
  buffer<std::int32_t> group_of_;  // by node
  buffer<bool> varies_;            // by node: not made of constants alone
  buffer<product_group> groups_;
  buffer<parameter_tensor> tensors_;
  buffer<std::int32_t> tensor_of_;  // by slot
  buffer<bool> is_left_out_;        // by node

  // ---- what is one

  constexpr bool find_form(int id, std::size_t at, product_form& f) const {
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
  constexpr bool find_form(int id, product_form& f) const {
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
      product_group made;
      product_form f;
      if (group_of_.items[first] >= 0 || !find_form(first, f)) continue;
      made.first = first;
      made.members.push_back({f, {first}});
      for (std::size_t k = i + 1; k < products.size() && made.members.size() < most_stored_as_one; ++k) {
        product_form next;
        if (group_of_.items[products[k]] < 0 && shares_operand(products[k], f.x) &&
            find_form(products[k], next) && next.is_like(f) && next.parameter < first &&
            g_.nodes[products[k]].type == g_.nodes[first].type && !holds(made, next.parameter) &&
            g_.nodes[next.parameter].type == g_.nodes[f.parameter].type &&
            is_kept(products[k]) == is_kept(first))
          made.members.push_back({next, {products[k]}});
      }
      if (made.members.size() > 1) leave_to_calls(made);
      if (made.members.size() < 2) continue;
      follow(made);
      for (std::size_t k = 0; k < made.chain; ++k) made.tensors.push_back(may_store(made, k) ? 0 : -1);
      if (!pays(made)) continue;
      for (std::size_t k = 0; k < made.chain; ++k)
        if (made.tensors[k] >= 0) store(made, k);
      for (const grouped_product& m : made.members)
        for (std::size_t k = 0; k < made.chain; ++k)
          group_of_.items[m.chain[k]] = static_cast<std::int32_t>(groups_.size());
      groups_.push_back(made);
    }
  }

  /// Without products whose calls go on to a GELU that only products read (passes/find_epilogues.hpp): of a
  /// part of a result none does.
  constexpr void leave_to_calls(product_group& of) const {
    for (std::size_t k = of.members.size(); k-- > 0;) {
      bool through_gelu = false;
      if (leads_to_products(of.members[k].chain[0], through_gelu) && through_gelu) of.members.erase(k);
    }
    if (!of.members.empty()) of.first = of.members[0].chain[0];
  }
  /// From node id by way of biases and a GELU.
  constexpr bool leads_to_products(int id, bool& through_gelu) const {
    for (int r = id + 1; r < static_cast<int>(g_.size()); ++r) {
      if (!shares_operand(r, id) || g_.nodes[r].kind == op::einsum) continue;
      const bool is_gelu = g_.nodes[r].composite == static_cast<std::uint16_t>(composite::gelu);
      through_gelu = through_gelu || is_gelu;
      const op kind = g_.nodes[r].kind;
      if (!is_gelu && kind != op::add && kind != op::cast && kind != op::reshape) return false;
      if (!leads_to_products(r, through_gelu)) return false;
    }
    return true;
  }

  // ---- parameters that are stored as one

  /// f(node) for what parameters go through to node k of m's chain, from the reader on; the last is an input.
  constexpr void for_each_on_the_way(const grouped_product& m, std::size_t k, auto f) const {
    int x = k == 0 ? g_.operand(m.chain[0], static_cast<int>(1 - m.of.at)) : added_to(m.chain[k], m);
    for (; g_.nodes[x].kind != op::input; x = g_.operand(x, 0)) f(x);
    f(x);
  }
  constexpr std::int32_t slot_of(const grouped_product& m, std::size_t k) const {
    std::int32_t last = -1;
    for_each_on_the_way(m, k, [&](int x) { last = x; });
    return g_.attribute(last, 0);
  }
  /// Node k of each member's chain reads a parameter that nothing else does, and all are one layer's.
  constexpr bool may_store(const product_group& of, std::size_t k) const {
    if (k > 0 && g_.nodes[of.members[0].chain[k]].kind != op::add) return false;
    const std::int32_t layer = rule_.layer_of(slot_of(of.members[0], k));
    bool may = true;
    for (const grouped_product& m : of.members) {
      const std::int32_t slot = slot_of(m, k);
      may = may && slot < rule_.parameters && rule_.layer_of(slot) == layer;
      for_each_on_the_way(m, k, [&](int x) { may = may && reads_.items[x] == 1; });
    }
    return may;
  }
  constexpr void store(product_group& of, std::size_t k) {
    const product_form& f = of.members[0].of;
    parameter_tensor made;
    made.rows = k == 0 && f.summed_first ? f.terms : 1;
    made.whole = k == 0 ? weights_of(of.members[0], columns_of(of)) : shape{columns_of(of)};
    of.tensors[k] = static_cast<std::int32_t>(tensors_.size());
    for (const grouped_product& m : of.members) {
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
  constexpr int node_of_slot(std::int32_t slot) const {
    int id = 0;
    while (g_.nodes[id].kind != op::input || g_.attribute(id, 0) != slot) ++id;
    return id;
  }

  // ---- whether it pays

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
  static constexpr bool holds(const product_group& of, int parameter) {
    for (const grouped_product& m : of.members)
      if (m.of.parameter == parameter) return true;
    return false;
  }
  /// Of each product but one, x is read twice less, once for the result and once for a gradient, and its
  /// adjoint is neither written nor read. Parameters that are not stored as one are read and written once
  /// more as they are joined, in the dtype that is computed in or, to be rounded to 8 bits, in f32, and so is
  /// their gradient as it is taken apart, in f32. Parts of one shape are a launch then
  /// (passes/join_kernels.hpp), and each product less is three less; of 8-bit floats parameters were rounded
  /// by one launch for each, and one in the backward pass.
  constexpr bool pays(const product_group& of) const {
    const product_form& f = of.members[0].of;
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

  static constexpr std::size_t columns_of(const product_group& of) {
    std::size_t columns = 0;
    for (const grouped_product& m : of.members) columns += m.of.columns;
    return columns;
  }

  // ---- chains

  /// As far as all members do the same to theirs, as long as the result has the products' dtype.
  constexpr void follow(product_group& of) const {
    const dtype type = g_.nodes[of.first].type;
    for (std::size_t at = 1; at < longest_chain; ++at) {
      for (grouped_product& m : of.members) {
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
  constexpr bool is_like(int id, const grouped_product& m, const product_group& of) const {
    const grouped_product& lead = of.members[0];
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
  constexpr int added_to(int id, const grouped_product& m) const {
    return g_.operand(id, g_.operand(id, 0) == m.chain[chain_before(id, m)] ? 1 : 0);
  }
  /// Where in m's chain what node id reads is.
  static constexpr std::size_t chain_before(int id, const grouped_product& m) {
    std::size_t k = 0;
    while (k + 1 < m.chain.size() && m.chain[k + 1] < id) ++k;
    return k;
  }
};

}  // namespace detail

}  // namespace passes
}  // namespace napkin
