// Random well-formed graphs over the whole table of operations, the same for the same seed everywhere: what
// passes and backends are tried on. Values stay finite and of moderate size, so that a difference shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "napkin/graph/builder.hpp"
#include "napkin/ops/primitives/attention.hpp"

namespace napkin::testing {

/// splitmix64 (Steele, Lea and Flood 2014): the standard library's distributions differ between libraries.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to n - 1.
  int below(std::size_t n) { return static_cast<int>(next() % n); }
  bool chance(double p) { return uniform(0, 1) < p; }
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

 private:
  std::uint64_t state_;
};

struct random_graph_options {
  dtype type = dtype::f64;      // of the inputs and of most nodes
  int operations = 40;          // drawn; each adds one node and, at times, the few that keep it tame
  std::size_t max_numel = 200;  // elements of any node
  bool only_elementwise_and_reductions = false;  // with the broadcasts (expand) between them
  std::array<shape, 3> inputs{shape{3, 4}, shape{2, 3, 4}, shape{4}};
};

namespace detail {

class graph_generator {
 public:
  graph_generator(std::uint64_t seed, const random_graph_options& options)
      : random_(seed), of_attention_(~seed), options_(options) {}

  graph run() {
    for (int slot = 0; slot < 3; ++slot)
      keep(b_.input(slot, options_.type, options_.inputs[static_cast<std::size_t>(slot)]));
    for (int drawn = 0; drawn < options_.operations;) {
      const auto o = static_cast<op>(1 + random_.below(static_cast<std::size_t>(op::attention) - 1));
      if (options_.only_elementwise_and_reductions && category_of(o) != category::leaf &&
          !is_elementwise(o) && !is_reduction(o) && o != op::expand)
        continue;
      const int id = draw(o);
      if (id < 0) continue;
      keep(id);
      ++drawn;
    }
    // Most nodes that nothing uses are outputs; the rest, and what leads only to them, are dead.
    buffer<bool> used(static_cast<std::size_t>(b_.size()), false);
    for (std::int32_t id = 0; id < b_.size(); ++id)
      for (std::int32_t x : b_.view().operands(id)) used[static_cast<std::size_t>(x)] = true;
    const int last = b_.size() - 1;
    b_.output(last);
    for (int id = 0; id < last; ++id)
      if (!used[static_cast<std::size_t>(id)] && random_.chance(0.8)) b_.output(id);
    if (!options_.only_elementwise_and_reductions && of_attention_.chance(0.5)) append_attention();
    return b_.result;
  }

 private:
  random_source random_, of_attention_;  // two, so that attention leaves the rest of a graph as it is
  random_graph_options options_;
  builder b_;
  std::vector<int> floats_, truths_, integers_;  // what an operation may take

  void keep(int id) {
    const dtype t = b_.type_of(id);
    if (t == options_.type) floats_.push_back(id);
    if (t == dtype::b8) truths_.push_back(id);
    if (t == dtype::i32) integers_.push_back(id);
  }
  /// Recent ones more often, so that graphs grow deep as well as wide.
  int pick(const std::vector<int>& from) {
    if (from.empty()) return -1;
    const std::size_t recent = from.size() < 6 ? from.size() : 6;
    if (random_.chance(0.5))
      return from[from.size() - recent + static_cast<std::size_t>(random_.below(recent))];
    return from[static_cast<std::size_t>(random_.below(from.size()))];
  }
  std::size_t numel_of(int id) const { return numel(b_.shape_of(id)); }
  std::size_t rank_of(int id) const { return b_.shape_of(id).size(); }
  bool chance(double p) { return random_.chance(p); }
  int number(int x, double value) { return b_.constant_like(value, b_.type_of(x), b_[x].shape_id); }

  /// A second operand for x: of its shape and dtype; a constant where there is none, at times a special one.
  int mate(int x, const std::vector<int>& from) {
    std::vector<int> fitting;
    for (int id : from)
      if (b_[id].shape_id == b_[x].shape_id) fitting.push_back(id);
    if (!fitting.empty() && chance(0.8)) return pick(fitting);
    if (b_.type_of(x) == dtype::b8) return x;
    const double special[] = {0, 1, 0.1, -1.25};  // 0.1 is no number of any dtype
    return number(x, special[random_.below(b_.type_of(x) == dtype::i32 ? 2 : 4)]);
  }
  int bounded(int x) { return b_.unary(op::tanh, x); }
  int positive(int x) { return b_.add(b_.unary(op::abs, bounded(x)), number(x, 0.5)); }

  int draw(op o) {
    if (o == op::constant || o == op::iota) return draw_leaf(o);
    if (is_elementwise(o)) return draw_elementwise(o);
    if (is_reduction(o)) return draw_reduction(o);
    const int x = pick(o != op::einsum && o != op::scatter_add && chance(0.2) ? truths_ : floats_);
    if (x < 0) return -1;
    switch (o) {
      case op::expand:
        return draw_expand(x);
      case op::reshape:
        return draw_reshape(x);
      case op::slice:
      case op::pad:
        return draw_walk(o, x);
      case op::diagonal:
        return draw_diagonal(x);
      case op::window:
        return draw_window(x);
      case op::concat:
        return draw_concat(x);
      case op::einsum:
        return draw_einsum();
      default:
        return rank_of(x) == 0 ? -1 : draw_indexing(o, x);
    }
  }

  /// Of numbers up to 1; its last two axes are positions and width, the others batches. Some results of it
  /// and of its backward pass are outputs, from sums that are the forward pass's.
  void append_attention() {
    std::swap(random_, of_attention_);
    const int x = pick(floats_);
    const std::size_t rank = rank_of(x);
    if (rank < 2 || rank > 2 + row::max_attention_axes || numel_of(x) == 0) return;
    const std::int32_t q = bounded(x), k = bounded(mate(x, floats_)), v = bounded(mate(x, floats_));
    using form = row::attention_form;
    std::vector<std::int32_t> attributes;
    const std::int32_t own[4][2] = {{form::query, form::hidden},
                                    {form::key, form::hidden},
                                    {form::key, form::value},
                                    {form::query, form::value}};
    for (const auto& two : own) {
      for (std::size_t i = 0; i + 2 < rank; ++i)
        attributes.push_back(form::first_outer + static_cast<std::int32_t>(i));
      attributes.insert(attributes.end(), two, two + 2);
    }
    attributes.push_back(chance(0.5));
    attributes.insert(attributes.end(), {0, 0, static_cast<std::int32_t>(attention_part::output)});
    const std::int32_t forward[] = {q, k, v};
    const int y = b_.emit({op::attention, b_.type_of(q), b_[q].shape_id, forward, attributes, 0.5});
    b_.output(y);
    const int dy = bounded(mate(y, floats_));
    const int sums = row::emit_attention(b_, y, op::attention, attention_part::log_sum, forward);
    const std::int32_t width[] = {static_cast<std::int32_t>(rank) - 1};
    const dtype wide = b_.type_of(sums);
    const int delta = b_.reduce(op::sum, b_.mul(b_.cast(y, wide), b_.cast(dy, wide)), width);
    const std::int32_t backward[] = {q, k, v, dy, sums, delta};
    for (const attention_part part : {attention_part::query, attention_part::key, attention_part::value})
      if (chance(0.6)) b_.output(row::emit_attention(b_, y, op::attention_backward, part, backward));
  }

  int draw_leaf(op o) {
    const int like = pick(floats_);
    if (o == op::constant) return number(like, chance(0.5) ? random_.below(3) : random_.uniform(-2, 2));
    if (chance(0.1)) return b_.cast(b_.iota(0, dtype::f8e5m2, {12}), options_.type);  // 9 and 11 are rounded
    if (rank_of(like) == 0) return -1;
    return b_.iota(random_.below(rank_of(like)), chance(0.5) ? dtype::i32 : options_.type, b_.shape_of(like));
  }

  int draw_elementwise(op o) {
    const int drawn = pick(floats_), x = chance(0.05) ? number(drawn, random_.uniform(-2, 2)) : drawn;
    switch (o) {
      case op::exp:
        return b_.unary(o, bounded(x));
      case op::log:
      case op::sqrt:
      case op::rsqrt:
        return b_.unary(o, positive(x));
      case op::logical_not: {
        const int t = pick(truths_);
        return t < 0 ? -1 : b_.unary(o, t);
      }
      case op::logical_and:
      case op::logical_or: {
        const int t = pick(truths_);
        return t < 0 ? -1 : b_.binary(o, t, mate(t, truths_));
      }
      case op::cast:
        return draw_cast(x);
      case op::div:
        return b_.div(x, positive(mate(x, floats_)));
      case op::pow:
        return b_.binary(o, positive(x), bounded(mate(x, floats_)));
      case op::fma:
        return b_.fma(bounded(x), bounded(mate(x, floats_)), mate(x, floats_));
      case op::mul:
        return b_.mul(chance(0.5) ? x : bounded(x), bounded(mate(x, floats_)));
      case op::select: {
        const int t = pick(truths_);
        if (t < 0) return -1;
        for (int tries = 0; tries < 20; ++tries)
          if (const int yes = pick(floats_); b_[yes].shape_id == b_[t].shape_id)
            return b_.select(t, yes, mate(yes, floats_));
        return -1;
      }
      case op::random_bits: {  // as dropout has them: which are in the lower half
        const int i = b_.cast(b_.mul(bounded(x), number(x, 8)), dtype::i64);
        const int half = b_.constant_like(0x1p31, dtype::i64, b_[i].shape_id);
        return b_.cast(b_.binary(op::less, b_.binary(o, i, i), half), options_.type);
      }
      case op::neg:
        return b_.unary(o, chance(0.3) ? b_.unary(o, x) : x);
      default:
        break;
    }
    if (facts_arity(o) == 1) return b_.unary(o, x);
    if (const int i = pick(integers_); i >= 0 && chance(0.2)) return b_.binary(o, i, mate(i, integers_));
    const int y = mate(x, floats_);
    return chance(0.5) ? b_.binary(o, x, y) : b_.binary(o, y, x);
  }
  static int facts_arity(op o) { return o <= op::stop_gradient ? 1 : 2; }

  int draw_cast(int x) {
    const int t = pick(truths_), i = pick(integers_);
    if (t >= 0 && chance(0.3)) return b_.cast(t, options_.type);
    if (i >= 0 && chance(0.4)) return b_.cast(i, options_.type);
    if (chance(0.3)) return b_.cast(b_.cast(x, dtype::f32), options_.type);
    return b_.cast(b_.mul(bounded(x), number(x, 8)), dtype::i32);
  }

  int draw_reduction(op o) {
    const bool quantifies = o == op::any || o == op::all;
    int x = pick(quantifies ? truths_ : floats_);
    if (x < 0 || rank_of(x) == 0) return -1;
    if (o == op::product) x = bounded(x);
    inplace_vector<std::int32_t, max_rank> axes;
    for (std::size_t i = 0; i < rank_of(x); ++i)
      if (chance(0.5)) axes.push_back(static_cast<std::int32_t>(i));
    if (axes.empty()) axes.push_back(random_.below(rank_of(x)));
    return b_.reduce(o, x, {axes.data(), axes.size()});
  }

  int draw_expand(int x) {
    if (rank_of(x) > 4) return -1;
    inplace_vector<std::int32_t, max_rank> map;
    for (std::size_t i = 0; i < rank_of(x); ++i)
      map.insert(static_cast<std::size_t>(random_.below(map.size() + 1)), static_cast<std::int32_t>(i));
    std::size_t elements = numel_of(x);
    for (int extra = random_.below(3); extra > 0; --extra)
      if (elements * 4 <= options_.max_numel) {
        map.insert(static_cast<std::size_t>(random_.below(map.size() + 1)), -1);
        elements *= 4;
      }
    shape to;
    for (std::int32_t m : map)
      to.push_back(m < 0 ? 2 + static_cast<std::size_t>(random_.below(3))
                         : b_.shape_of(x)[static_cast<std::size_t>(m)]);
    return b_.expand(x, to, {map.data(), map.size()});
  }

  int draw_reshape(int x) {
    const shape from = b_.shape_of(x);
    shape to;
    if (from.size() < 2) {
      to.push_back(1);
      for (std::size_t size : from) to.push_back(size);
      return b_.reshape(x, to);
    }
    const std::size_t merged = static_cast<std::size_t>(random_.below(from.size() - 1));
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (i == merged + 1)
        to.back() *= from[i];
      else
        to.push_back(from[i]);
    }
    return b_.reshape(x, to);
  }

  int draw_walk(op o, int x) {
    const shape from = b_.shape_of(x);
    shape to;
    std::int32_t start[max_rank]{}, step[max_rank]{};
    std::size_t elements = 1;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const int stride = 1 + random_.below(2), before = random_.below(2);
      const int few = o == op::slice ? 1 + (static_cast<int>(from[i]) - 1) / stride -
                                           (stride == 1 && from[i] > 1 && before)
                                     : static_cast<int>(from[i]);
      const int span = (few - 1) * stride + 1;
      const int offset = o == op::slice ? static_cast<int>(from[i]) - span : before;
      const bool backwards = chance(0.3);
      start[i] = backwards ? offset + span - 1 : offset;
      step[i] = backwards ? -stride : stride;
      to.push_back(static_cast<std::size_t>(o == op::slice ? few : offset + span + random_.below(2)));
      elements *= to.back();
    }
    if (elements > options_.max_numel) return -1;
    const ids starts{start, from.size()}, strides{step, from.size()};
    return o == op::slice ? b_.slice(x, to, starts, strides) : b_.pad(x, to, starts, strides);
  }

  int draw_diagonal(int x) {
    const shape s = b_.shape_of(x);
    for (std::size_t i = 0; i < s.size(); ++i)
      for (std::size_t j = i + 1; j < s.size(); ++j) {
        if (s[i] != s[j]) continue;
        shape to;
        inplace_vector<std::int32_t, max_rank> map;
        for (std::size_t k = 0; k < s.size(); ++k) {
          map.push_back(k == j ? map[i] : static_cast<std::int32_t>(to.size()));
          if (k != j) to.push_back(s[k]);
        }
        return b_.diagonal(x, to, {map.data(), map.size()});
      }
    if (s.size() != 1 || s[0] * s[0] > options_.max_numel) return -1;
    const std::int32_t repeated[] = {0, -1}, both[] = {0, 0};
    return b_.diagonal(b_.expand(x, {s[0], s[0]}, repeated), s, both);
  }

  int draw_window(int x) {
    if (rank_of(x) == 0 || rank_of(x) == static_cast<int>(max_rank)) return -1;
    const int axis = random_.below(rank_of(x)),
              size = static_cast<int>(b_.shape_of(x)[static_cast<std::size_t>(axis)]);
    const int taps = 1 + random_.below(3), dilation = 1 + random_.below(2), step = 1 + random_.below(3);
    const int reach = (taps - 1) * dilation;
    if (reach >= size) return -1;
    const int start = random_.below(size - reach), positions = 1 + (size - reach - start - 1) / step;
    if (numel_of(x) / static_cast<std::size_t>(size) * static_cast<std::size_t>(positions * taps) >
        options_.max_numel)
      return -1;
    const bool backwards = chance(0.3);
    return b_.window(x, axis, static_cast<std::size_t>(positions), static_cast<std::size_t>(taps),
                     backwards ? start + reach : start, step, backwards ? -dilation : dilation);
  }

  int draw_concat(int x) {
    if (rank_of(x) == 0 || 2 * numel_of(x) > options_.max_numel) return -1;
    const std::int32_t xs[] = {x, mate(x, b_.type_of(x) == dtype::b8 ? truths_ : floats_)};
    return b_.concat(xs, random_.below(rank_of(x)));
  }

  /// One to three operands; axes of equal size often share a label, also within an operand.
  int draw_einsum() {
    std::vector<std::int32_t> xs, labels;
    std::vector<std::size_t> size_of_label;
    std::size_t loops = 1;
    for (int k = 1 + random_.below(3); k > 0; --k) {
      xs.push_back(bounded(pick(floats_)));
      for (std::size_t size : b_.shape_of(xs.back())) {
        std::size_t label = size_of_label.size();
        for (std::size_t l = 0; l < size_of_label.size(); ++l)
          if (size_of_label[l] == size && chance(0.6)) label = l;
        if (label == size_of_label.size()) size_of_label.push_back(size), loops *= size;
        labels.push_back(static_cast<std::int32_t>(label));
      }
    }
    if (loops > 20 * options_.max_numel || size_of_label.size() > max_rank) return -1;
    std::vector<std::int32_t> result;
    std::size_t elements = 1;
    for (std::size_t l = 0; l < size_of_label.size(); ++l)
      if (chance(0.5) && elements * size_of_label[l] <= options_.max_numel && result.size() < 4) {
        elements *= size_of_label[l];
        result.insert(result.begin() + random_.below(result.size() + 1), static_cast<std::int32_t>(l));
      }
    return b_.einsum(xs, labels, result);
  }

  /// Positions that some axis of x has, from a coordinate clamped to them.
  int draw_indexing(op o, int x) {
    const shape from = b_.shape_of(x);
    const int axis = random_.below(from.size());
    const std::size_t size = from[static_cast<std::size_t>(axis)];
    const bool gathers = o == op::gather;
    const shape index_shape = gathers && chance(0.4) ? shape{2, 2} : shape{gathers ? 3 : size};
    const int position = b_.iota(static_cast<int>(index_shape.size()) - 1, dtype::i32, index_shape);
    const std::size_t limit = gathers ? size : 3;
    const int index = b_.binary(op::minimum, position, number(position, static_cast<double>(limit) - 1));
    if (gathers) return numel_of(x) / size * 4 > options_.max_numel ? -1 : b_.gather(x, index, axis);
    shape to = from;
    to[static_cast<std::size_t>(axis)] = limit;
    return numel(to) > options_.max_numel ? -1 : b_.scatter_add(x, index, to, axis);
  }
};

}  // namespace detail

/// A legal graph (passes/verify.hpp) whose inputs are slots 0 to 2.
inline graph random_graph(std::uint64_t seed, const random_graph_options& options = {}) {
  return detail::graph_generator(seed, options).run();
}

/// Values for every slot of a graph, uniform in [low, high).
inline std::vector<std::vector<double>> random_inputs(const graph_view& g, std::uint64_t seed,
                                                      double low = -2, double high = 2) {
  random_source random(seed);
  std::vector<std::vector<double>> inputs;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind != op::input) continue;
    const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
    if (slot >= inputs.size()) inputs.resize(slot + 1);
    if (!inputs[slot].empty()) continue;
    inputs[slot].resize(numel(g.shape_of(id)));
    for (double& x : inputs[slot]) x = random.uniform(low, high);
  }
  return inputs;
}

}  // namespace napkin::testing
