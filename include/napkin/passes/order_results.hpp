// In which order the axes of an intermediate lie in memory. An output lies as it was asked for; what products
// make, and what kernels make for products, lies as those that write and read it need the fewest calls and move
// the fewest bytes: where one order makes of a product a loop of calls, or no GEMM at all, another is often one
// call.
//   a product's result      an einsum of permuted labels, which readers see through a transposition, a view
//   an elementwise node's   the same node with the order as attributes: its kernel writes by those strides. The
//                           last axis stays the last, so that whoever walks it meets adjacent elements
//
// What a product costs is the backend's to say (Target::price). One that takes operands of any strides as they
// are, as the CPU does, says nothing, and its graphs stay as they are.
#pragma once

#include "napkin/ops/primitives/contraction.hpp"
#include "napkin/passes/contraction_groups.hpp"
#include "napkin/passes/legalize.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// What products, and kernels that read their results, take beyond one call and memory walked once, as bytes
/// that memory moves in that time: by a nominal machine, the same everywhere. `refused`: products that are no
/// GEMM.
struct layout_price {
  std::uint64_t refused = 0, bytes = 0;

  constexpr bool is_free() const { return refused == 0 && bytes == 0; }
  constexpr layout_price& operator+=(const layout_price& p) {
    refused = refused > ~std::uint64_t{0} - p.refused ? ~std::uint64_t{0} : refused + p.refused;
    bytes = bytes > ~std::uint64_t{0} - p.bytes ? ~std::uint64_t{0} : bytes + p.bytes;
    return *this;
  }
  /// Never at the price of a GEMM, whatever it saves.
  constexpr bool is_better_than(const layout_price& p) const {
    return refused <= p.refused && bytes < p.bytes;
  }
};
namespace detail {

/// What node x is a view of.
constexpr int base_of(const graph_view& g, int x) {
  while (is_view(g.nodes[x].kind)) x = g.pool[g.nodes[x].first_operand];
  return x;
}

template <class Target>
class order_chooser {
 public:
  buffer<axis_order> orders;  // by node; empty: row-major, as all begin

  constexpr explicit order_chooser(const graph_view& graph) : g_(graph) {}

  /// What a product that takes more than it might reads and makes, by its batch first; then one intermediate
  /// after the other, and again while any moves. Each move makes the sum of prices smaller. Whether any did.
  constexpr bool run() {
    if (!find_prices()) return false;
    find_uses();
    find_followers();
    orders.resize(g_.size());
    settled_.resize(g_.size(), false);
    first_asked_.resize(g_.size(), -1);
    bool changed = false, moved = true;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (is_product(id) && !prices_.items[id].is_free()) changed = batch_first(id) || changed;
    for (int round = 0; moved && round < most_rounds; ++round) {
      moved = false;
      for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
        if (moves_.items[id] && !settled_.items[id] && !price_around({&id, 1}, known_prices).is_free()) {
          settled_.items[id] = true;  // until something around it moves
          moved = improve(id) || moved;
        }
      changed = changed || moved;
    }
    return changed;
  }

 private:
  static constexpr int most_rounds = 4;
  enum prices : bool { known_prices, new_prices };
  struct use {
    int reader, through;  // -1 for an output; as which of its operands
    std::int32_t next;    // of the same tensor's
  };
  struct asked_price {
    std::uint64_t a, b, c;
    layout_price price;
    std::int32_t next;  // of the same kind of product
  };
  graph_view g_;
  buffer<std::int32_t> kind_;         // by node, of einsums: the first that contracts alike, row-major
  buffer<std::int32_t> first_asked_;  // by node, of those
  buffer<asked_price> asked_prices_;
  buffer<bool> moves_;              // by node: whether other orders are tried
  buffer<std::uint8_t> follows_;    // by node: so many steps after a product; 0: none
  buffer<bool> settled_;            // by node: no other order of it alone is better
  buffer<layout_price> prices_;     // of einsums in the orders chosen so far
  buffer<use> uses_;                // of those that move
  buffer<std::int32_t> first_use_;  // by node; -1: none

  constexpr bool is_product(int id) const { return g_.nodes[id].kind == op::einsum; }

  /// What every product takes; those equal are asked about once. Whether there is anything to be moved: of a
  /// product that takes more than it might, its result and its operands; a result that something else reads
  /// transposed.
  constexpr bool find_prices() {
    bool any = false;
    buffer<std::int32_t> kinds;
    const auto move = [&](int id) {
      const op o = g_.nodes[id].kind;
      if ((o != op::einsum && !is_elementwise(o)) || g_.shape_of(id).size() < 2) return;
      moves_.items[id] = any = true;
    };
    const auto move_transposed = [&](int x) {
      if (g_.nodes[x].kind != op::expand) return;
      const int from = g_.operand(x, 0);
      if (is_product(from) && numel(g_.shape_of(x)) == numel(g_.shape_of(from)) &&
          !is_direct(x, access_of(g_, x)))
        move(from);
    };
    moves_.resize(g_.size(), false);
    prices_.resize(g_.size());
    kind_.resize(g_.size(), -1);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      const op o = g_.nodes[id].kind;
      if (o == op::einsum) {
        std::size_t k = 0;
        while (k < kinds.size() && !contract_alike(g_, kinds[k], id)) ++k;
        if (k == kinds.size()) {
          kinds.push_back(id);
          prices_.items[id] = find_price(id);
        }
        kind_.items[id] = kinds[k];
        prices_.items[id] = prices_.items[kinds[k]];
        if (prices_.items[id].is_free()) continue;
        move(id);
        for (const std::int32_t x : g_.operands(id)) move(base_of(g_, x));
      } else if (is_elementwise(o) || is_reduction(o)) {
        for (const std::int32_t x : g_.operands(id)) move_transposed(x);
      }
    }
    for (const std::int32_t out : g_.output_ids()) move_transposed(out);
    return any;
  }

  /// What is an output, or is read by anything but products and kernels, stays.
  constexpr void find_uses() {
    first_use_.resize(g_.size(), -1);
    const auto add = [&](int base, int reader, int through) {
      uses_.push_back({reader, through, first_use_.items[base]});
      first_use_.items[base] = static_cast<std::int32_t>(uses_.size() - 1);
    };
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      const op o = g_.nodes[id].kind;
      if (is_view(o)) continue;
      const bool any_order = o == op::einsum || is_elementwise(o) || is_reduction(o);
      for (const std::int32_t x : g_.operands(id)) {
        const int base = base_of(g_, x);
        if (!moves_.items[base]) continue;
        if (any_order)
          add(base, id, x);
        else
          moves_.items[base] = false;
      }
    }
    for (const std::int32_t out : g_.output_ids()) {
      int x = out;  // in other shapes it lies as it did
      while (g_.nodes[x].kind == op::reshape) x = g_.operand(x, 0);
      const int base = base_of(g_, x);
      if (base == x || !is_product(base))
        moves_.items[base] = false;
      else if (moves_.items[base])
        add(base, -1, x);
    }
  }

  constexpr stride_list strides_of(int id) const {
    const bool ordered = !orders.empty() && !orders.items[id].empty();
    return ordered ? strides_in(orders.items[id], g_.shape_of(id)) : access_of(g_, id).stride;
  }
  constexpr access lies(int x) const {
    if (!is_view(g_.nodes[x].kind)) return {x, strides_of(x), 0, true};
    const access from = lies(g_.operand(x, 0));
    return from.possible ? view_access(g_, x, from) : from;
  }

  constexpr layout_price find_price(int id) const {
    const node& n = g_.nodes[id];
    const int a = g_.pool[n.first_operand], b = g_.pool[n.first_operand + 1];
    const shape &of_a = g_.shape_of(a), &of_b = g_.shape_of(b), &of_c = g_.shape_of(id);
    const access at_a = lies(a), at_b = lies(b);
    if (!at_a.possible || !at_b.possible) return {~std::uint64_t{0}, 0};  // would be copied
    const std::int32_t* const labels = g_.pool + n.first_attribute;
    return Target::price(n.type, {{labels, of_a.count}, of_a, at_a.stride},
                         {{labels + of_a.count, of_b.count}, of_b, at_b.stride},
                         {{labels + of_a.count + of_b.count, of_c.count}, of_c, strides_of(id)});
  }

  /// An order as a number; 0: row-major as it is.
  constexpr std::uint64_t code_of(int x) const {
    static_assert(max_rank <= 15);
    const axis_order& order = orders.items[x];
    std::uint64_t code = 0;
    for (std::size_t i = 0; i < order.count; ++i)
      code = code << 4 | static_cast<std::uint64_t>(order.items[i]);
    return order.count == 0 ? 0 : code | std::uint64_t{1} << 60;
  }
  /// In the orders chosen so far. Equal layers ask the same, and so do rounds.
  constexpr layout_price price_of_product(int id) {
    const std::int32_t* const x = g_.pool + g_.nodes[id].first_operand;
    asked_price now{code_of(base_of(g_, x[0])), code_of(base_of(g_, x[1])), code_of(id), {}, -1};
    std::int32_t& first = first_asked_.items[kind_.items[id]];
    for (std::int32_t at = first; at >= 0; at = asked_prices_.items[at].next) {
      const asked_price& known = asked_prices_.items[at];
      if (known.a == now.a && known.b == now.b && known.c == now.c) return known.price;
    }
    now.price = find_price(id);
    now.next = first;
    first = static_cast<std::int32_t>(asked_prices_.size());
    asked_prices_.push_back(now);
    return now.price;
  }

  /// Is walked as it lies, all of it.
  constexpr bool is_direct(int x, const access& a) const {
    const shape& s = g_.shape_of(x);
    const stride_list as_walked = row_major_strides(s);
    bool direct = numel(s) == numel(g_.shape_of(a.base));
    for (std::size_t i = 0; i < s.size(); ++i) direct = direct && (s[i] == 1 || a.stride[i] == as_walked[i]);
    return direct;
  }
  /// A kernel that meets fewer adjacent bytes than a sector has moves one for each element.
  static constexpr std::uint64_t sector = 32;

  /// Of an operand that a kernel, or an output's copy, walks; `in_call`: which might be part of a product's
  /// call, or no copy, if it lay in the order that it is walked in.
  constexpr layout_price price_of_reading(int x, bool in_call) const {
    const access a = lies(x);
    const shape& s = g_.shape_of(x);
    if (!a.possible) return {~std::uint64_t{0}, 0};  // would be copied
    if (is_direct(x, a)) return {};
    const std::uint64_t elements = numel(g_.shape_of(a.base)), size = size_of(g_.nodes[x].type);
    bool adjacent = true;
    for (std::size_t i = 0; i < s.size(); ++i)  // along the last axis
      if (s[i] != 1) adjacent = a.stride[i] == 0 || a.stride[i] == 1;
    return {0, (in_call ? bytes_a_launch + 2 * elements * size : 0) + (adjacent ? 0 : elements * sector)};
  }
  /// Elementwise nodes that soon follow a product, element for element: they might be part of its call
  /// (scale, bias, cast, a tensor that is added).
  static constexpr std::uint8_t most_in_call = 4;
  constexpr void find_followers() {
    follows_.resize(g_.size(), std::uint8_t{0});
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      if (!is_elementwise(g_.nodes[id].kind)) continue;
      for (const std::int32_t x : g_.operands(id)) {
        const std::uint8_t before = follows_.items[x];
        if (is_product(x) || (before > 0 && before < most_in_call))
          follows_.items[id] = static_cast<std::uint8_t>(before + 1);
      }
    }
  }
  constexpr bool follows_product(int id) const { return follows_.items[id] > 0; }
  /// Of a kernel that writes in an order of its own: it is no part of a product's call.
  constexpr layout_price price_of_writing(int id) const {
    const axis_order& order = orders.items[id];
    const shape& s = g_.shape_of(id);
    if (order.empty() || strides_in(order, s) == row_major_strides(s)) return {};
    const std::uint64_t elements = numel(s), size = size_of(g_.nodes[id].type);
    const bool adjacent = s[static_cast<std::size_t>(order.back())] * size >= sector;
    return {0, (follows_product(id) ? bytes_a_launch + 2 * elements * size : 0) +
                   (adjacent ? 0 : elements * sector)};
  }

  /// What depends on the orders of `moved`; of new prices no more than shows that they are no better than
  /// `than`.
  constexpr layout_price price_around(ids moved, prices which, const layout_price& than = {}) {
    layout_price sum;
    asked_.clear();
    const auto add_product = [&](int einsum) {
      for (const std::int32_t known : asked_)
        if (known == einsum) return;
      asked_.push_back(einsum);
      sum += which == new_prices ? price_of_product(einsum) : prices_.items[einsum];
    };
    for (const std::int32_t id : moved) {
      if (is_product(id))
        add_product(id);
      else
        sum += price_of_writing(id);
      for (std::int32_t u = first_use_.items[id]; u >= 0; u = uses_.items[u].next) {
        if (which == new_prices && !sum.is_better_than(than)) return sum;
        const use& here = uses_.items[u];
        if (here.reader >= 0 && is_product(here.reader))
          add_product(here.reader);
        else
          sum += price_of_reading(here.through, is_product(id) || is_reduction(g_.nodes[here.reader].kind) ||
                                                    follows_product(here.reader));
      }
    }
    return sum;
  }
  buffer<std::int32_t> asked_;

  /// In these orders, if that is better than `was`, what it is as they lie.
  constexpr bool try_orders(ids moved, const axis_order* tried, layout_price& was) {
    axis_order before[3];
    for (std::size_t i = 0; i < moved.size(); ++i) {
      before[i] = orders.items[moved[i]];
      orders.items[moved[i]] = tried[i];
    }
    const layout_price now = price_around(moved, new_prices, was);
    if (now.is_better_than(was)) {
      was = now;
      for (const std::int32_t einsum : asked_) {
        prices_.items[einsum] = price_of_product(einsum);
        settled_.items[einsum] = false;
        for (const std::int32_t x : g_.operands(einsum)) settled_.items[base_of(g_, x)] = false;
      }
      return true;
    }
    for (std::size_t i = 0; i < moved.size(); ++i) orders.items[moved[i]] = before[i];
    return false;
  }

  constexpr axis_order order_of(int id) const {
    if (!orders.items[id].empty()) return orders.items[id];
    axis_order order;
    for (std::size_t i = 0; i < g_.shape_of(id).size(); ++i) order.push_back(static_cast<std::int32_t>(i));
    return order;
  }

  /// The operands that can be, then the result too, in the order of the product's batch, then as they lie:
  /// one alone changes nothing where the others keep its axes apart.
  constexpr bool batch_first(int id) {
    const row::einsum_labels labels(g_, id);
    inplace_vector<std::int32_t, 3> moved;
    axis_order tried[3];
    bool better = false;
    for (int k = 0; k < 3; ++k) {
      const int x = k < 2 ? g_.operand(id, k) : id;
      if (!moves_.items[x] || moved.contains(x)) continue;
      const ids own = k < 2 ? labels.operand(static_cast<std::size_t>(k)) : labels.result();
      axis_order& order = tried[moved.size()];
      for (const std::int32_t l : labels.result())
        if (row::has_label(labels.operand(0), l) && row::has_label(labels.operand(1), l))
          for (std::size_t i = 0; i < own.size(); ++i)
            if (own[i] == l) order.push_back(static_cast<std::int32_t>(i));
      for (const std::int32_t axis : order_of(x))
        if (!order.contains(axis)) order.push_back(axis);
      moved.push_back(x);
      layout_price was = price_around(moved, known_prices);
      if (k > 0) better = try_orders(moved, tried, was) || better;
    }
    return better;
  }

  /// Two runs of axes that lie side by side change places, as long as that is better.
  constexpr bool improve(int id) {
    const axis_order from = order_of(id);
    layout_price was = price_around({&id, 1}, known_prices);
    const std::size_t last = is_product(id) ? from.size() : from.size() - 1;
    bool better = false;
    for (std::size_t i = 0; i < last; ++i)
      for (std::size_t j = i + 1; j < last; ++j)
        for (std::size_t k = j + 1; k <= last; ++k) {
          axis_order tried = from;
          for (std::size_t n = i; n < k; ++n) tried[n] = from[n - i < k - j ? n - i + j : n - (k - j)];
          better = try_orders({&id, 1}, &tried, was) || better;
        }
    return better;
  }
};

}  // namespace detail

/// g, which is contracted and simplified, its intermediates in the orders that suit who writes and reads
/// them.
template <class Target>
constexpr graph order_results(graph&& g) {
  bool contracts = false;
  for (const node& n : g.nodes) contracts = contracts || n.kind == op::einsum;
  if (!contracts) return static_cast<graph&&>(g);
  const graph_view before = g.view();
  detail::order_chooser<Target> chosen(before);
  if (!chosen.run()) return static_cast<graph&&>(g);
  builder b;
  b.simplify = true;  // a transposition of one is one, or none
  b.result.nodes.reserve(before.size() + before.size() / 8 + 4);
  b.result.pool.reserve(before.pool_count + before.pool_count / 8 + 16);
  b.result.shapes.append(before.shapes, before.shape_count);  // so that their numbers stay
  buffer<std::int32_t> now(before.size(), -1), xs;
  for (int id = 0; id < static_cast<int>(before.size()); ++id) {
    xs.clear();
    for (const std::int32_t x : before.operands(id)) xs.push_back(now[static_cast<std::size_t>(x)]);
    std::int32_t& made = now[static_cast<std::size_t>(id)];
    const axis_order& order = chosen.orders[static_cast<std::size_t>(id)];
    if (order.empty()) {
      made = emit_again(b, before, id, xs, before[id].shape_id);
      continue;
    }
    const node& n = before[id];
    b.origin = n.origin;
    b.composite = n.composite;
    b.when = n.when;
    if (n.kind != op::einsum) {
      made = b.emit({n.kind, n.type, n.shape_id, xs, order, n.value});
      continue;
    }
    const shape& s = before.shape_of(id);
    const ids old = before.attributes(id);
    const std::size_t first = old.size() - s.size();
    buffer<std::int32_t> labels;
    labels.append(old.data(), first);
    shape lying;
    axis_order back(s.size(), 0);
    for (std::size_t i = 0; i < s.size(); ++i) {
      const auto axis = static_cast<std::size_t>(order[i]);
      labels.push_back(old[first + axis]);
      lying.push_back(s[axis]);
      back[axis] = static_cast<std::int32_t>(i);
    }
    const int product = b.emit({op::einsum, n.type, b.result.intern(lying), xs, labels, n.value});
    made = b.expand(product, s, back);
  }
  for (const std::int32_t out : before.output_ids()) b.output(now[static_cast<std::size_t>(out)]);
  return without_dead_nodes(b.take());
}

}  // namespace passes
}  // namespace napkin
