// Einsums of any number of operands become pairwise ones, in the order that costs least. Afterwards an
// einsum has two operands, sums something, repeats no label within an operand, and each of its labels stands
// in at least two of its operands and result: a batch, row, column or summed axis of a matrix product. What
// is left over becomes diagonals, sums, transpositions and elementwise products.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "napkin/ops/primitives/contraction.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

using napkin::objective;

/// The ratio of a machine's arithmetic to its bandwidth at which the two terms of least_time meet: nominal,
/// and the same everywhere, so that a graph's order does not depend on where it is compiled.
inline constexpr std::uint64_t flops_per_byte = 16;

namespace detail {

// Counts that have left 64 bits stay at the largest: such an order is never chosen.
inline constexpr std::uint64_t too_many = ~std::uint64_t{0};
constexpr std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > too_many / b ? too_many : a * b;
}
constexpr std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > too_many - b ? too_many : a + b; }

using label_set = std::uint64_t;  // bit l: label l
static_assert(max_labels <= 64);

constexpr label_set set_of(ids labels) {
  label_set s = 0;
  for (std::int32_t l : labels) s |= label_set{1} << l;
  return s;
}

/// What a pairwise contraction takes or makes, by what its cost depends on.
struct contraction_term {
  label_set labels = 0;
  std::uint64_t elements = 0;
};

/// An order of contraction: term k < operands is operand k, each step makes the next term of two.
struct contraction_step {
  std::size_t left = 0, right = 0;
};
using contraction_order = inplace_vector<contraction_step, max_einsum_operands>;

/// The labels of an einsum and what contracting some of its operands costs.
struct contraction_problem {
  inplace_vector<label_set, max_einsum_operands> operands;
  label_set result = 0;
  std::array<std::uint64_t, max_labels> size{};
  std::uint64_t element_bytes = 0;
  objective goal = objective::least_time;

  constexpr contraction_problem(const graph_view& g, int id, objective minimised)
      : element_bytes(size_of(g.nodes[id].type)), goal(minimised) {
    const row::einsum_labels labels(g, id);
    for (std::size_t k = 0; k < labels.arity(); ++k) {
      const shape& s = g.shape_of(g.operand(id, static_cast<int>(k)));
      for (std::size_t i = 0; i < s.size(); ++i) size[static_cast<std::size_t>(labels.operand(k)[i])] = s[i];
      operands.push_back(set_of(labels.operand(k)));
    }
    result = set_of(labels.result());
  }

  constexpr std::uint64_t points(label_set s) const {
    std::uint64_t n = 1;
    for (; s != 0; s &= s - 1) n = times(n, size[static_cast<std::size_t>(std::countr_zero(s))]);
    return n;
  }
  /// Labels of operand k that neither the result nor another operand has.
  constexpr label_set lone(std::size_t k) const {
    label_set others = result;
    for (std::size_t j = 0; j < operands.size(); ++j)
      if (j != k) others |= operands[j];
    return operands[k] & ~others;
  }
  constexpr contraction_term term(label_set s) const { return {s, points(s)}; }
  constexpr std::uint64_t flops(label_set all, label_set kept) const {
    return times(points(all), all == kept ? 1 : 2);
  }
  /// Of a step from two terms to one.
  constexpr std::uint64_t cost(const contraction_term& a, const contraction_term& b,
                               const contraction_term& kept) const {
    // flops(all, kept), of which the points kept are known
    const label_set summed = (a.labels | b.labels) & ~kept.labels;
    const std::uint64_t arithmetic =
        summed == 0 ? kept.elements : times(kept.elements, times(points(summed), 2));
    if (goal == objective::least_flops) return arithmetic;
    const std::uint64_t elements = plus(kept.elements, plus(a.elements, b.elements));
    const std::uint64_t memory = times(elements, element_bytes * flops_per_byte);
    return arithmetic > memory ? arithmetic : memory;
  }
};

/// The least cost of all orders by dynamic programming over sets of operands, 3^n steps, outer products
/// included. Source: Pfeifer, Haegeman & Verstraete, "Faster identification of optimal contraction sequences
/// for tensor networks", 2014, without its pruning.
class exact_order {
 public:
  contraction_order steps;
  std::uint64_t cost = 0;

  constexpr explicit exact_order(const contraction_problem& p) {
    const std::size_t n = p.operands.size(), sets = std::size_t{1} << n;
    best_.resize(sets);
    entry* const best = best_.data();  // by pointer: what is here is done thousands of times
    for (std::size_t s = 1; s < sets; ++s) {
      entry& e = best[s];
      label_set needed = p.result;  // by what is outside of s
      for (std::size_t k = 0; k < n; ++k) (s >> k & 1 ? e.term.labels : needed) |= p.operands.items[k];
      const std::size_t lowest = s & (~s + 1), rest = s ^ lowest;
      if (rest != 0) e.term.labels &= needed;
      e.term.elements = p.points(e.term.labels);
      if (rest == 0) continue;
      e.cost = too_many;
      // an intermediate of too many axes cannot be written down
      if (std::popcount(e.term.labels) > static_cast<int>(max_rank)) continue;
      for (std::size_t among = rest; among != 0;) {  // each split once: `left` has the lowest operand
        among = (among - 1) & rest;
        const entry &a = best[lowest | among], &b = best[rest ^ among];
        const std::uint64_t before = plus(a.cost, b.cost);
        if (before >= e.cost) continue;
        const std::uint64_t total = plus(before, p.cost(a.term, b.term, e.term));
        if (total >= e.cost) continue;
        e.cost = total;
        e.left = lowest | among;
      }
    }
    cost = best_[sets - 1].cost;
    if (cost == too_many) throw error("contract: an einsum has no order whose costs fit in 64 bits");
    if (n > 1) list(sets - 1, n);
  }

 private:
  struct entry {
    contraction_term term;
    std::uint64_t cost = 0;
    std::size_t left = 0;
  };
  buffer<entry> best_;

  /// The term that stands for a set of operands, its steps listed first.
  constexpr std::size_t list(std::size_t s, std::size_t n) {
    if (std::has_single_bit(s)) return static_cast<std::size_t>(std::countr_zero(s));
    const std::size_t left = list(best_[s].left, n), right = list(s ^ best_[s].left, n);
    steps.push_back({left, right});
    return n + steps.size() - 1;
  }
};

/// For more operands than can be searched: the cheapest pair first, again and again.
constexpr contraction_order greedy_order(const contraction_problem& p) {
  struct live_term {
    std::size_t number = 0;  // as a step says it
    contraction_term term;
  };
  contraction_order steps;
  inplace_vector<live_term, max_einsum_operands> live;
  for (std::size_t k = 0; k < p.operands.size(); ++k) live.push_back({k, p.term(p.operands[k])});
  while (live.size() > 1) {
    label_set in_one = 0, in_two = 0, in_three = 0;  // labels of so many terms, or more
    for (const live_term& t : live) {
      in_three |= in_two & t.term.labels;
      in_two |= in_one & t.term.labels;
      in_one |= t.term.labels;
    }
    std::size_t left = 0, right = 0;
    contraction_term made;
    std::uint64_t least = too_many;
    for (std::size_t i = 0; i < live.size(); ++i)
      for (std::size_t j = i + 1; j < live.size(); ++j) {
        const label_set x = live[i].term.labels, y = live[j].term.labels;
        const label_set kept = (x & y & (in_three | p.result)) | ((x ^ y) & (in_two | p.result));
        if (std::popcount(kept) > static_cast<int>(max_rank)) continue;
        const contraction_term term = p.term(kept);
        const std::uint64_t cost = p.cost(live[i].term, live[j].term, term);
        if (cost < least) {
          least = cost;
          left = i;
          right = j;
          made = term;
        }
      }
    if (least == too_many) throw error("contract: an einsum has no order whose costs fit in 64 bits");
    steps.push_back({live[left].number, live[right].number});
    live.erase(right);
    live.erase(left);
    live.push_back({p.operands.size() + steps.size() - 1, made});
  }
  return steps;
}

/// What an order costs by p's objective.
constexpr std::uint64_t cost_of_order(const contraction_problem& p, const contraction_order& order) {
  buffer<label_set> terms;
  for (label_set s : p.operands) terms.push_back(s);
  buffer<bool> used(2 * terms.size(), false);
  std::uint64_t sum = 0;
  for (const contraction_step& step : order) {
    used[step.left] = used[step.right] = true;
    label_set needed = p.result;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (!used[k]) needed |= terms[k];
    const label_set a = terms[step.left], b = terms[step.right], kept = (a | b) & needed;
    sum = plus(sum, p.cost(p.term(a), p.term(b), p.term(kept)));
    terms.push_back(kept);
  }
  return sum;
}

inline constexpr std::size_t most_searched = 8;  // operands: 3^8 = 6,561 splits

/// Of more operands than are searched the better of two greedy orders: what looks cheap by time at first may
/// be slower in the end than what looks cheap by FLOPs.
constexpr contraction_order order_of(const contraction_problem& p) {
  if (p.operands.size() <= most_searched) return exact_order(p).steps;
  const contraction_order by_goal = greedy_order(p);
  if (p.goal == objective::least_flops) return by_goal;
  contraction_problem q = p;
  q.goal = objective::least_flops;
  const contraction_order by_flops = greedy_order(q);
  return cost_of_order(p, by_flops) < cost_of_order(p, by_goal) ? by_flops : by_goal;
}

/// Rewrites one einsum node into a builder.
struct contraction_writer {
  struct term {
    std::int32_t id = 0;
    inplace_vector<std::int32_t, max_rank> labels;
    constexpr ids list() const { return {labels.data(), labels.size()}; }
  };
  builder& b;
  const contraction_problem& p;

  /// An operand with its diagonals taken and its lone labels summed.
  constexpr term prepared(std::int32_t x, ids labels, label_set lone) const {
    term t;
    shape sizes;
    inplace_vector<std::int32_t, max_rank> map, summed;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::size_t at = t.labels.index_of(labels[i]);
      if (at == t.labels.size()) {
        t.labels.push_back(labels[i]);
        sizes.push_back(b.shape_of(x)[i]);
      }
      map.push_back(static_cast<std::int32_t>(at));
    }
    t.id = t.labels.size() == labels.size() ? x : b.diagonal(x, sizes, {map.data(), map.size()});
    if (lone == 0) return t;
    const term whole = t;
    t.labels.clear();
    for (std::size_t i = 0; i < whole.labels.size(); ++i) {
      if (lone >> whole.labels[i] & 1)
        summed.push_back(static_cast<std::int32_t>(i));
      else
        t.labels.push_back(whole.labels[i]);
    }
    t.id = p.points(lone) == 1 ? b.reshape(whole.id, sizes_of(t.list()))
                               : b.reduce(op::sum, whole.id, {summed.data(), summed.size()});
    return t;
  }

  /// x with its axes as labelled, repeated along those that it lacks.
  constexpr std::int32_t arranged(const term& x, ids labels, const shape& sizes) const {
    inplace_vector<std::int32_t, max_rank> map;
    for (std::int32_t l : labels) {
      const std::size_t at = x.labels.index_of(l);
      map.push_back(at < x.labels.size() ? static_cast<std::int32_t>(at) : -1);
    }
    return b.expand(x.id, sizes, {map.data(), map.size()});
  }

  constexpr shape sizes_of(ids labels) const {
    shape s;
    for (std::int32_t l : labels) s.push_back(static_cast<std::size_t>(p.size[static_cast<std::size_t>(l)]));
    return s;
  }

  constexpr std::int32_t product(const term& x, const term& y, ids to) const {
    if ((set_of(x.list()) | set_of(y.list())) == set_of(to)) {
      const shape sizes = sizes_of(to);
      const std::int32_t left = arranged(x, to, sizes);
      return b.mul(left, arranged(y, to, sizes));
    }
    const std::int32_t operands[] = {x.id, y.id};
    inplace_vector<std::int32_t, 2 * max_rank> from;
    for (std::int32_t l : x.labels) from.push_back(l);
    for (std::int32_t l : y.labels) from.push_back(l);
    return b.einsum(operands, {from.data(), from.size()}, to);
  }

  constexpr int write(const row::einsum_labels& labels, ids operands) const {
    buffer<term> terms;
    buffer<bool> used(2 * operands.size(), false);
    for (std::size_t k = 0; k < operands.size(); ++k)
      terms.push_back(prepared(operands[k], labels.operand(k), p.lone(k)));
    if (operands.size() == 1) return arranged(terms[0], labels.result(), sizes_of(labels.result()));

    contraction_problem remaining = p;
    for (std::size_t k = 0; k < operands.size(); ++k) remaining.operands[k] = set_of(terms[k].list());
    const contraction_order order = order_of(remaining);
    for (std::size_t s = 0; s < order.size(); ++s) {
      const std::size_t left = order[s].left, right = order[s].right;
      used[left] = used[right] = true;
      label_set needed = p.result;
      for (std::size_t k = 0; k < terms.size(); ++k)
        if (!used[k]) needed |= set_of(terms[k].list());
      const term x = terms[left], y = terms[right];
      term made;
      if (s + 1 == order.size()) {
        for (std::int32_t l : labels.result()) made.labels.push_back(l);
      } else {  // shared axes, then rows, then columns: adjacent ones of a kind merge into one
        for (const bool shared : {true, false})
          for (std::int32_t l : x.labels)
            if (needed >> l & 1 && y.labels.contains(l) == shared) made.labels.push_back(l);
        for (std::int32_t l : y.labels)
          if (needed >> l & 1 && !x.labels.contains(l)) made.labels.push_back(l);
      }
      made.id = product(x, y, made.list());
      terms.push_back(made);
    }
    return terms.back().id;
  }
};

}  // namespace detail

/// The FLOPs of contracting an einsum pairwise in the order that needs fewest: for each step the product of
/// its labels' sizes, twice if it sums. With `sums_first`, labels of one operand alone may be summed away
/// before (an addition for each element), as `contract` does. One operand counts its additions only. A sum
/// over labels of size 1 counts like any other, though `contract` makes nothing of it.
///
/// Errors  `error` where the einsum has more than 8 operands or the count exceeds 64 bits.
constexpr std::uint64_t contraction_flops(const graph_view& g, int einsum, bool sums_first = false) {
  detail::contraction_problem p(g, einsum, objective::least_flops);
  if (p.operands.size() > detail::most_searched)
    throw error("contraction_flops: an order of more than 8 operands is not searched exhaustively");
  if (p.operands.size() == 1) return p.operands[0] == p.result ? 0 : p.points(p.operands[0]);
  if (!sums_first) return detail::exact_order(p).cost;
  // What is summed over more than 1 is summed first; of size 1 either may be less, as a step that sums
  // nothing else counts half.
  std::uint64_t sums = 0, least = detail::too_many;
  inplace_vector<std::size_t, detail::most_searched> open;
  detail::contraction_problem rest = p;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const detail::label_set lone = p.lone(k);
    if (lone == 0) continue;
    if (p.points(lone) == 1) {
      open.push_back(k);
      continue;
    }
    sums = detail::plus(sums, p.points(p.operands[k]));
    rest.operands[k] &= ~lone;
  }
  for (std::size_t chosen = 0; chosen >> open.size() == 0; ++chosen) {
    detail::contraction_problem one = rest;
    std::uint64_t cost = sums;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if ((chosen >> i & 1) == 0) continue;
      cost = detail::plus(cost, p.points(p.operands[open[i]]));
      one.operands[open[i]] &= ~p.lone(open[i]);
    }
    cost = detail::plus(cost, detail::exact_order(one).cost);
    if (cost < least) least = cost;
  }
  return least;
}

namespace detail {
/// The einsum is in the form that this pass makes: nothing is to be chosen.
constexpr bool is_pairwise(const graph_view& g, int id) {
  if (g.nodes[id].arity != 2) return false;
  const ids labels = g.attributes(id);
  const std::size_t a = g.shape_of(g.operand(id, 0)).size(), ab = a + g.shape_of(g.operand(id, 1)).size();
  std::uint64_t in_a = 0, in_b = 0, in_result = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::uint64_t& side = i < a ? in_a : i < ab ? in_b : in_result;
    const std::uint64_t bit = std::uint64_t{1} << labels[i];
    if ((side & bit) != 0) return false;
    side |= bit;
  }
  const bool sums = (in_a & in_b & ~in_result) != 0;
  return sums && (in_a & ~in_b & ~in_result) == 0 && (in_b & ~in_a & ~in_result) == 0;
}
}  // namespace detail

/// Nothing is left to do for `contract`.
constexpr bool is_contracted(const graph_view& g) {
  for (std::size_t id = 0; id < g.node_count; ++id)
    if (g.nodes[id].kind == op::einsum && !detail::is_pairwise(g, static_cast<int>(id))) return false;
  return true;
}

/// Every einsum pairwise, in the form said above; the graph is simplified on the way and dtypes are kept, so
/// that an intermediate of a 16-bit einsum is rounded to 16 bits.
///
/// `simplified` says that g's builder simplified it: then, if nothing is to be contracted, dead nodes go and
/// that is all. Orders of up to 8 operands are the best of all, those of more are greedy. An einsum that asks
/// for least_flops itself has it, whatever the goal.
constexpr graph contract(const graph_view& g, objective goal = objective::least_time,
                         bool simplified = false) {
  const bool done = is_contracted(g);
  if (done && simplified) return without_dead_nodes(g);  // not one ?: with the next: g++ 12 frees its result
  if (done) return simplify(g);
  builder b;
  b.simplify = true;
  b.result.nodes.reserve(g.size());
  b.result.pool.reserve(g.pool_count);
  b.result.shapes.append(g.shapes, g.shape_count);  // so that their numbers stay
  const buffer<bool> live = live_nodes(g);
  buffer<std::int32_t> now(g.size(), -1), xs;
  for (std::size_t n = 0; n < g.node_count; ++n) {
    if (!live[n]) continue;
    const auto id = static_cast<int>(n);
    xs.clear();
    for (std::int32_t x : g.operands(id)) xs.push_back(now[static_cast<std::size_t>(x)]);
    if (g.nodes[id].kind != op::einsum) {
      now[n] = emit_again(b, g, id, xs, g.nodes[id].shape_id);
      continue;
    }
    b.origin = g.nodes[id].origin;
    b.composite = g.nodes[id].composite;
    b.when = g.nodes[id].when;
    const bool by_flops = g.nodes[id].value == static_cast<double>(objective::least_flops);
    const detail::contraction_problem problem(g, id, by_flops ? objective::least_flops : goal);
    now[n] = detail::contraction_writer{b, problem}.write(row::einsum_labels(g, id), xs);
  }
  for (std::int32_t out : g.output_ids()) b.output(now[static_cast<std::size_t>(out)]);
  return without_dead_nodes(b.take());
}

}  // namespace passes
}  // namespace napkin
