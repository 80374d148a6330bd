// What a kernel of the forward pass would store for the backward pass alone, and is cheap arithmetic on
// values that are there anyway, is made again by the kernels that read it: a GELU's and a SwiGLU's
// insides, a norm's quotients, roundings on the way to 8 bits. Of a fused graph, so that it is known what
// is stored and who reads it; the graph that comes of it has the same outputs, bit for bit, and is fused
// anew. It moves fewer bytes and keeps none more.
//
// Not for a budget: passes/recompute.hpp makes again what saves memory, and products if need be; this only
// what costs less than the bytes that it saves.
#pragma once

#include "napkin/passes/fuse.hpp"
#include "napkin/passes/readers.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// What arithmetic costs a backend beside the bytes that kernels move.
struct arithmetic_price {
  double flops_a_byte = 0;     // as long as moving one
  double transcendental = 32;  // FLOPs: a tanh, an exponential by core/math.hpp's formulas
};

namespace detail {

class again_chooser {
 public:
  constexpr again_chooser(const graph_view& graph, const fusion& fused, const fuse_options& options,
                          const arithmetic_price& price)
      : g_(graph),
        f_(fused),
        options_(options),
        price_(price),
        readers_(graph, fused),
        is_output_(graph.size(), false),
        chosen_(graph.size(), false),
        seen_(graph.size(), 0),
        added_(fused.units.size(), 0) {
    for (const std::int32_t out : g_.output_ids()) is_output_.items[out] = true;
  }

  constexpr void choose() {
    for (std::size_t u = 0; u < f_.units.size(); ++u) {
      const unit& k = f_.units.items[u];
      if (k.merged || k.kind != unit_kind::kernel || is_after(static_cast<std::int32_t>(u))) continue;
      find_candidates(static_cast<std::int32_t>(u));
      if (!candidates_.empty()) choose_among(static_cast<std::int32_t>(u));
    }
  }
  constexpr bool any() const { return any_; }
  /// By node: stored no more.
  constexpr const buffer<bool>& chosen() const { return chosen_; }

  /// What node v, a chosen one, is made of in its kernel, ascending; v is the last.
  constexpr void list_insides(std::int32_t v, buffer<std::int32_t>& nodes) {
    nodes.clear();
    ++stamp_;
    visit(v, nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::int32_t x : g_.operands(nodes[i])) {
        const std::int32_t base = f_.references.items[x].base;
        if (is_made_inside(f_.unit_of.items[v], base) || chosen_.items[base]) visit(base, nodes);
      }
    insertion_sort(nodes);
  }

 private:
  struct candidate {
    std::int32_t id;
    double bytes;
    std::int32_t kernels = 0;  // that read it
    bool again = true;
  };
  /// What making values again takes: bytes moved, of which arithmetic's share is the time that it takes.
  struct cost {
    double moved = 0;
    double kept = 0;  // bytes that the backward pass would not read otherwise, a row's statistics aside
    std::size_t excess = 0;  // nodes that kernels have no room for, or may not read
  };

  const graph_view& g_;
  const fusion& f_;
  fuse_options options_;
  arithmetic_price price_;
  reader_list readers_;
  buffer<bool> is_output_, chosen_;
  buffer<std::int32_t> seen_;  // by node: when it was last met
  std::int32_t stamp_ = 0;
  buffer<std::size_t> added_;  // by unit: nodes that it is to make
  bool any_ = false;
  buffer<candidate> candidates_;     // of a kernel
  buffer<std::int32_t> in_kernels_;  // that read those
  buffer<std::size_t> made_in_;      // by those: nodes, as evaluated last
  buffer<std::int32_t> nodes_, written_;

  /// As passes/fuse.hpp has it: what is made again after the loss joins no kernel that begins before.
  constexpr bool is_after(std::int32_t u) const { return f_.units.items[u].members.items[0] > g_.outputs[0]; }
  constexpr double bytes_of(std::int32_t id) const {
    return static_cast<double>(numel(g_.shape_of(id)) * size_of(g_.nodes[id].type));
  }
  constexpr bool can_make(std::int32_t u, std::int32_t id) const {
    const node& n = g_.nodes[id];
    return f_.unit_of.items[id] == u && f_.role_of.items[id] == role::element && is_elementwise(n.kind) &&
           n.when == computed::once && !has_own_order(n);
  }
  /// Not stored, so that whoever wants it makes it.
  constexpr bool is_made_inside(std::int32_t u, std::int32_t id) const {
    return !f_.materialized.items[id] && can_make(u, id);
  }
  constexpr double flops_of(std::int32_t id) const {
    const primitive_facts& row = facts_of(g_.nodes[id].kind);
    const double flops = row.flops + price_.transcendental * row.transcendental;
    return flops > 1 ? flops : 1;
  }

  /// Values at every position of kernel u's domain that are stored for kernels after the loss alone, which
  /// read them as they lie.
  constexpr void find_candidates(std::int32_t u) {
    candidates_.clear();
    in_kernels_.clear();
    for (const std::int32_t id : f_.units.items[u].members) {
      if (!f_.materialized.items[id] || is_output_.items[id] || !can_make(u, id)) continue;
      candidate c{id, bytes_of(id)};
      bool possible = true;
      inplace_vector<std::int32_t, 8> kernels;
      for (const std::int32_t r : readers_.of(id)) {
        const std::int32_t reads = f_.unit_of.items[r];
        if (reads == u) continue;
        const unit& k = f_.units.items[reads];
        possible = possible && k.kind == unit_kind::kernel && is_after(reads) &&
                   k.domain == g_.nodes[id].shape_id && reads_directly(r, id) &&
                   (kernels.contains(reads) || kernels.size() < kernels.capacity());
        if (!possible) break;
        if (!kernels.contains(reads)) kernels.push_back(reads);
      }
      if (!possible || kernels.empty()) continue;
      c.kernels = static_cast<std::int32_t>(kernels.size());
      for (const std::int32_t k : kernels) {
        bool known = false;
        for (const std::int32_t before : in_kernels_) known = known || before == k;
        if (!known) in_kernels_.push_back(k);
      }
      candidates_.push_back(c);
    }
  }
  constexpr bool reads_directly(std::int32_t reader, std::int32_t base) const {
    for (const std::int32_t x : g_.operands(reader))
      if (const reference& r = f_.references.items[x]; r.base == base && !r.direct) return false;
    return true;
  }
  constexpr bool is_read_in(std::int32_t id, std::int32_t kernel) const {
    for (const std::int32_t r : readers_.of(id))
      if (f_.unit_of.items[r] == kernel) return true;
    return false;
  }
  constexpr bool is_read_after(std::int32_t id) const {
    for (const std::int32_t r : readers_.of(id))
      if (is_after(f_.unit_of.items[r])) return true;
    return false;
  }

  constexpr bool visit(std::int32_t id, buffer<std::int32_t>& nodes) {
    if (seen_.items[id] == stamp_) return false;
    seen_.items[id] = stamp_;
    nodes.push_back(id);
    return true;
  }

  /// All again, then one after the other kept where that is better.
  constexpr void choose_among(std::int32_t u) {
    cost now = evaluate(u);
    for (std::size_t i = candidates_.size(); i-- > 0;) {
      candidates_[i].again = false;
      const cost without = evaluate(u);
      if (is_better(without, now))
        now = without;
      else
        candidates_[i].again = true;
    }
    cost none;
    bool changes = false;
    for (candidate& c : candidates_) {
      none.moved += c.bytes * (1 + c.kernels);
      changes = changes || c.again;
    }
    if (!changes || !is_better(now, none)) return;
    (void)evaluate(u);
    for (std::size_t i = 0; i < in_kernels_.size(); ++i) added_.items[in_kernels_[i]] += made_in_[i];
    for (const candidate& c : candidates_) chosen_.items[c.id] = c.again;
    any_ = true;
  }
  static constexpr bool is_better(const cost& a, const cost& b) {
    if (a.excess != b.excess) return a.excess < b.excess;
    if ((a.kept > 0) != (b.kept > 0)) return b.kept > 0;
    return a.moved < b.moved;
  }

  constexpr cost evaluate(std::int32_t u) {
    cost all;
    for (const candidate& c : candidates_) {
      chosen_.items[c.id] = c.again;
      if (c.again)
        all.kept -= c.bytes;
      else
        all.moved += c.bytes * (1 + c.kernels);
    }
    written_.clear();
    made_in_.clear();
    for (const std::int32_t kernel : in_kernels_) add_kernel(u, kernel, all);
    for (const candidate& c : candidates_) chosen_.items[c.id] = false;
    return all;
  }
  /// What kernel u's values, as they are chosen, take `kernel`, which reads them.
  constexpr void add_kernel(std::int32_t u, std::int32_t kernel, cost& all) {
    ++stamp_;
    nodes_.clear();
    for (const candidate& c : candidates_)
      if (c.again && is_read_in(c.id, kernel)) (void)visit(c.id, nodes_);
    double flops = 0;
    std::size_t made = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::int32_t id = nodes_[i];
      const bool is_made = chosen_.items[id] || is_made_inside(u, id);
      if (!is_made) {
        add_source(id, kernel, all);
        continue;
      }
      flops += flops_of(id);
      ++made;
      for (const std::int32_t x : g_.operands(id)) {
        const std::int32_t base = f_.references.items[x].base;
        if (!is_constant_or_iota(g_.nodes[base].kind)) (void)visit(base, nodes_);
      }
    }
    all.moved +=
        flops * static_cast<double>(numel(g_.shapes[f_.units.items[kernel].domain])) / price_.flops_a_byte;
    made_in_.push_back(made);
    const unit& k = f_.units.items[kernel];
    const std::size_t added = added_.items[kernel] + made;
    if (!options_.has_room(k.members.count + added, k.made_again + added)) all.excess += made;
  }
  /// A value that kernel reads to make others of. No product's result that one node alone reads: that may be
  /// done in the product's own call (passes/find_epilogues.hpp), and more behind it.
  constexpr void add_source(std::int32_t id, std::int32_t kernel, cost& all) {
    const double bytes = bytes_of(id);
    if (g_.nodes[id].kind == op::einsum && readers_.of(id).size() == 1) ++all.excess;
    if (!is_read_in(id, kernel)) all.moved += bytes;
    if (f_.unit_of.items[id] < 0) return;
    for (const std::int32_t before : written_)
      if (before == id) return;
    written_.push_back(id);
    if (!f_.materialized.items[id]) all.moved += bytes;
    if (!is_read_after(id) && f_.role_of.items[id] != role::row) all.kept += bytes;
  }
};

class again_maker {
 public:
  constexpr again_maker(const graph_view& graph, const fusion& fused, again_chooser& chooser)
      : g_(graph), f_(fused), chooser_(chooser), now_(graph.size(), -1) {
    made_.nodes.reserve(g_.size() + g_.size() / 4 + 8);
    made_.pool.reserve(g_.pool_count + g_.pool_count / 4 + 16);
    made_.shapes.append(g_.shapes, g_.shape_count);
  }

  constexpr graph run() {
    const bool* const chosen = chooser_.chosen().data();
    buffer<std::int32_t> xs;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g_.node_count); ++id) {
      const std::int32_t u = f_.unit_of.items[id];
      xs.clear();
      for (const std::int32_t x : g_.operands(id))
        xs.push_back(chosen[x] && f_.unit_of.items[x] != u ? copy(x, u) : now_.items[x]);
      now_.items[id] = emit(id, xs, g_.nodes[id].when);
    }
    for (const std::int32_t out : g_.output_ids()) made_.outputs.push_back(now_.items[out]);
    // What only the backward pass reads is then made there alone.
    const buffer<bool> live = live_nodes(made_.view());
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      bool is_first = true;
      for (std::size_t k = 0; k < i; ++k) is_first = is_first && copies_[k].of != copies_[i].of;
      if (is_first && !live.items[now_.items[copies_[i].of]])
        made_.nodes.items[copies_[i].id].when = computed::later;
    }
    return without_dead_nodes(static_cast<graph&&>(made_));
  }

 private:
  struct copied {
    std::int32_t of, unit, id;
  };
  const graph_view& g_;
  const fusion& f_;
  again_chooser& chooser_;
  graph made_;
  buffer<std::int32_t> now_, insides_, operands_;
  buffer<copied> copies_;

  constexpr std::int32_t emit(std::int32_t id, const buffer<std::int32_t>& operands, computed when) {
    node n = g_.nodes[id];
    const std::int32_t* const attributes = g_.pool + n.first_attribute;
    n.first_operand = static_cast<std::int32_t>(made_.pool.size());
    made_.pool.append(operands.data(), operands.size());
    n.first_attribute = static_cast<std::int32_t>(made_.pool.size());
    made_.pool.append(attributes, static_cast<std::size_t>(n.attribute_count));
    n.when = when;
    made_.nodes.push_back(n);
    return static_cast<std::int32_t>(made_.nodes.size() - 1);
  }
  constexpr std::int32_t find_copy(std::int32_t of, std::int32_t unit) const {
    for (std::size_t i = copies_.size(); i-- > 0;)
      if (copies_.items[i].of == of && copies_.items[i].unit == unit) return copies_.items[i].id;
    return -1;
  }
  /// Node `of` as kernel `unit` makes it, just before the first of its nodes that reads it.
  constexpr std::int32_t copy(std::int32_t of, std::int32_t unit) {
    if (const std::int32_t known = find_copy(of, unit); known >= 0) return known;
    chooser_.list_insides(of, insides_);
    for (const std::int32_t id : insides_) {
      if (find_copy(id, unit) >= 0) continue;
      operands_.clear();
      for (const std::int32_t x : g_.operands(id)) {
        const std::int32_t again = is_view(g_.nodes[x].kind) ? -1 : find_copy(x, unit);
        operands_.push_back(again >= 0 ? again : now_.items[x]);
      }
      copies_.push_back({id, unit, emit(id, operands_, computed::again)});
    }
    return copies_.back().id;
  }
};

}  // namespace detail

/// g, legal and fused as `f` says, with what pays made again: each value as copies of the nodes that its
/// kernel makes it of, one for each kernel that reads it. The first copy of what nothing else reads is the
/// only one there is, and counts as arithmetic as it did; others count as recomputed besides, as those of
/// passes/recompute.hpp.
///
/// options: those by which g was fused.
constexpr graph make_again(const graph_view& g, const fusion& f, const fuse_options& options,
                           const arithmetic_price& price) {
  detail::again_chooser chooser(g, f, options, price);
  chooser.choose();
  if (!chooser.any()) return same_graph(g);
  return detail::again_maker(g, f, chooser).run();
}

}  // namespace passes
}  // namespace napkin
