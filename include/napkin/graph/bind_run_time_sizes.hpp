// From a traced graph, in which some sizes are known at run time alone, to one of bounds that can be planned:
// whatever would run past the end of such an axis, a sum say, reads the operation's identity there, and the
// actual sizes are inputs. Where what stands behind the end is as good a number as any, less is masked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "napkin/graph/coordinate.hpp"
#include "napkin/graph/run_time_sizes.hpp"

namespace napkin {

/// What stands behind the end of an axis that is sized at run time.
enum class behind_the_end : std::uint8_t {
  anything,  // numbers that are none, indices of nothing
  benign,    // the last position again, of all operands: whatever is computed there stands before the end too
  nothing    // operands are full: what costs are counted of
};

namespace detail {

/// What a reduction makes of nothing, of type t, as a node of shape s.
constexpr int identity_node(builder& b, op o, dtype t, const shape& s) {
  constexpr double lowest_i64 = -9223372036854775808.0;
  const auto number = [&](double x) { return b.constant(x, t, s); };
  if (o == op::sum || o == op::any || o == op::einsum) return number(0);
  if (o == op::product || o == op::all) return number(1);
  const bool largest = o == op::min;
  if (is_floating(t)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (t == dtype::f8e4m3) return number(largest ? 448 : -448);  // which has no infinity
    return number(largest ? infinity : -infinity);
  }
  switch (t) {
    case dtype::i64:  // 2^63 - 1 is no double
      return largest ? b.sub(number(-1), number(lowest_i64)) : number(lowest_i64);
    case dtype::i32:
      return number(largest ? 2147483647.0 : -2147483648.0);
    case dtype::i16:
      return number(largest ? 32767 : -32768);
    case dtype::i8:
      return number(largest ? 127 : -128);
    case dtype::u32:
      return number(largest ? 4294967295.0 : 0);
    case dtype::u16:
      return number(largest ? 65535 : 0);
    case dtype::u8:
      return number(largest ? 255 : 0);
    default:
      return number(largest ? 1 : 0);
  }
}

/// Makes the graph of bounds.
class run_time_binder {
 public:
  /// `given`: what the sizes are, in the order of inputs; null: their bounds.
  constexpr run_time_binder(const graph_view& g, bool simplify, behind_the_end there,
                            const std::size_t* given = nullptr)
      : g_(g),
        equal_(g),
        first_slot_(g.next_slot()),
        there_(there),
        given_(given),
        now_(g.size(), -1),
        behind_(g.size()),
        exponent_(g.size(), 0),
        size_nodes_(max_run_time_sizes, -1) {
    b_.simplify = simplify;
    b_.reserve(2 * g.size() + 16);
    if (there == behind_the_end::benign)
      for (int id = 0; id < static_cast<int>(g.node_count); ++id)
        if (g[id].kind == op::max)
          exponent_[static_cast<std::size_t>(g.operand(id, 0))] = find_exponent(g.operand(id, 0));
  }
  constexpr graph make() {
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      now_[static_cast<std::size_t>(id)] = bind(id);
      if (there_ == behind_the_end::benign) behind_[static_cast<std::size_t>(id)] = find_behind(id);
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_[static_cast<std::size_t>(out)]);
    return b_.take();
  }

 private:
  const graph_view& g_;
  equal_sizes equal_;
  std::int32_t first_slot_;
  behind_the_end there_;
  const std::size_t* given_;
  builder b_;
  buffer<std::int32_t> now_;
  /// Along which axes of a node stands behind the end, wherever other axes have not ended: 0, or a number so
  /// low that the exponential of how far it is below the largest is 0. Of what is benign alone.
  struct known_behind {
    std::uint32_t zero = 0, low = 0;
  };
  buffer<known_behind> behind_;
  buffer<std::uint32_t> exponent_;  // find_exponent
  inplace_vector<std::int32_t, max_run_time_sizes> size_nodes_;

  constexpr std::size_t known(std::size_t size) const {
    return given_ != nullptr && is_run_time_size(size) ? given_[equal_.input_of(size)] : bound_of(size);
  }
  constexpr shape known(shape s) const {
    for (std::size_t i = 0; i < s.count; ++i) s.items[i] = known(s.items[i]);
    return s;
  }
  /// The actual size, a scalar of i32.
  constexpr int size_node(std::size_t size) {
    const std::size_t k = equal_.input_of(size);
    if (size_nodes_[k] < 0)
      size_nodes_[k] = b_.input(first_slot_ + static_cast<std::int32_t>(k), dtype::i32, {});
    return size_nodes_[k];
  }
  /// Node x of g, with another's number instead behind the end of those of its axes that `chosen` has.
  constexpr int masked(int x, op reads_as, const auto& chosen) {
    const int now = now_[static_cast<std::size_t>(x)];
    if (there_ == behind_the_end::nothing) return now;
    const shape& s = g_.shape_of(x);
    const shape bounds = known(s);
    int inside = -1;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (!is_run_time_size(s[i]) || !chosen(i)) continue;
      const int along = b_.binary(op::less, b_.iota(static_cast<int>(i), dtype::i32, bounds),
                                  b_.fill(size_node(s[i]), bounds));
      inside = inside < 0 ? along : b_.binary(op::logical_and, inside, along);
    }
    return inside < 0 ? now : b_.select(inside, now, identity_node(b_, reads_as, g_[x].type, bounds));
  }
  /// The number of elements that a constant is summed over, times it; numbers in f32 that f16 ends below.
  constexpr int counted(int id) {
    const node& n = g_[id];
    const dtype type = is_small_float(n.type) ? dtype::f32 : n.type;
    const int x = g_.operand(id, 0);
    const shape bounds = known(g_.shape_of(id));
    double all = g_[x].value;
    int number = -1;
    for (const std::int32_t a : g_.attributes(id)) {
      const std::size_t size = g_.shape_of(x)[static_cast<std::size_t>(a)];
      if (there_ != behind_the_end::nothing && is_run_time_size(size)) {
        const int s = b_.cast(b_.fill(size_node(size), bounds), type);  // computed where it is read
        number = number < 0 ? s : b_.mul(number, s);
      } else {
        all *= static_cast<double>(known(size));
      }
    }
    if (number < 0) return b_.constant(all, n.type, bounds);
    return b_.cast(all == 1 ? number : b_.scale(number, all), n.type);
  }

  /// A coordinate; behind the end of its axis the last one again, as inputs have their last position again:
  /// so whatever is computed there is what is computed somewhere before the end.
  constexpr int last_again(int id) {
    const node& n = g_[id];
    const shape bounds = known(g_.shape_of(id));
    const std::int32_t axis = g_.attribute(id, 0);
    const int along = b_.iota(axis, n.type, bounds);
    const std::size_t size = g_.shape_of(id)[static_cast<std::size_t>(axis)];
    if (!is_run_time_size(size)) return along;
    const auto number = [&](double x) { return b_.constant(x, n.type, bounds); };
    const int last = b_.sub(b_.cast(b_.fill(size_node(size), bounds), n.type), number(1));
    return b_.binary(op::minimum, along, b_.binary(op::maximum, last, number(0)));
  }
  constexpr bool reduces(int id, std::int32_t axis) const {
    for (const std::int32_t a : g_.attributes(id))
      if (a == axis) return true;
    return false;
  }
  /// Whether an einsum's result lacks a label.
  constexpr bool sums(int id, std::int32_t label) const {
    const ids all = g_.attributes(id);
    for (std::size_t r = all.size() - g_.shape_of(id).size(); r < all.size(); ++r)
      if (all[r] == label) return false;
    return true;
  }
  /// Whether an einsum that sums a label reads zeros behind its end of operand k. Where those are anything,
  /// of all operands; else of one, if none has them already.
  constexpr bool needs_zero(int id, int k, std::int32_t label) const {
    if (!sums(id, label)) return false;
    if (there_ != behind_the_end::benign) return true;
    const ids all = g_.attributes(id);
    std::size_t at = 0;
    int first_with = -1;
    bool is_zero = false;
    for (int j = 0; j < g_[id].arity; ++j) {
      const std::int32_t x = g_.operand(id, j);
      for (std::size_t i = 0; i < g_.shape_of(x).size(); ++i, ++at) {
        if (all[at] != label) continue;
        if (first_with < 0 || (first_with != j && numel(known(g_.shape_of(x))) <
                                                      numel(known(g_.shape_of(g_.operand(id, first_with))))))
          first_with = j;
        is_zero = is_zero || (behind_[static_cast<std::size_t>(x)].zero >> i & 1) != 0;
      }
    }
    return !is_zero && first_with == k;
  }

  /// f(reader, which of its operands x is) for all that read x, while it holds.
  constexpr bool all_readers(int x, const auto& f) const {
    for (int id = x + 1; id < static_cast<int>(g_.size()); ++id)
      for (int k = 0; k < g_[id].arity; ++k)
        if (g_.operand(id, k) == x && !f(id, k)) return false;
    for (const std::int32_t out : g_.output_ids())
      if (out == x) return false;
    return true;
  }
  /// Whether x goes into sums and products alone, which sum along all of these axes of it.
  constexpr bool is_summed(int x, std::uint32_t along) const {
    return all_readers(x, [&](int reader, int k) {
      const op kind = g_[reader].kind;
      if (kind == op::cast || (kind == op::div && k == 0)) return is_summed(reader, along);
      if (kind != op::sum && kind != op::einsum) return false;
      std::size_t first = 0;
      for (int j = 0; j < k; ++j) first += g_.shape_of(g_.operand(reader, j)).size();
      for (std::size_t i = 0; i < g_.shape_of(x).size(); ++i) {
        if ((along >> i & 1) == 0) continue;
        const auto axis = static_cast<int>(i), label = static_cast<int>(first + i);
        if (kind == op::sum ? !reduces(reader, axis) : !sums(reader, g_.attribute(reader, label)))
          return false;
      }
      return true;
    });
  }
  /// Along which axes x is what one softmax, or the logarithm of one sum, takes the exponentials of, and
  /// these go into sums alone: -infinity behind the end, and weights of 0, are to meet nothing else.
  constexpr std::uint32_t find_exponent(int x) const {
    std::uint32_t along = 0;
    int maxima = 0;
    const bool fits = is_floating(g_[x].type) && all_readers(x, [&](int reader, int k) {
                        if (g_[reader].kind == op::max) {
                          ++maxima;
                          for (const std::int32_t a : g_.attributes(reader))
                            if (is_run_time_size(g_.shape_of(x)[static_cast<std::size_t>(a)]))
                              along |= std::uint32_t{1} << a;
                          return true;
                        }
                        return g_[reader].kind == op::sub && k == 0;
                      });
    if (!fits || maxima != 1 || along == 0) return 0;
    const bool all_summed = all_readers(x, [&](int reader, int) {
      return g_[reader].kind == op::max || all_readers(reader, [&](int exponential, int) {
               return g_[exponential].kind == op::exp && is_summed(exponential, along);
             });
    });
    return all_summed ? along : 0;
  }

  /// An axis whose coordinate is compared with that of another, of the same size.
  struct causal_axes {
    int key = -1, query = -1;  // -1: it is not so
  };
  /// Which axis's coordinate is never seen beyond another's, though always as far as that, by a condition on
  /// coordinates alone.
  constexpr causal_axes find_causal(int condition) const {
    const node& n = g_[condition];
    if (n.kind == op::logical_and) {
      for (int k = 0; k < 2; ++k) {
        const causal_axes found = find_causal(g_.operand(condition, k));
        if (found.key >= 0 && shows_diagonal(g_.operand(condition, 1 - k), found)) return found;
      }
      return {};
    }
    if (n.kind == op::expand) {
      const causal_axes found = find_causal(g_.operand(condition, 0));
      causal_axes here;
      for (int i = 0; found.key >= 0 && i < n.attribute_count; ++i) {
        if (g_.attribute(condition, i) == found.key) here.key = i;
        if (g_.attribute(condition, i) == found.query) here.query = i;
      }
      return here;
    }
    if (n.kind != op::less && n.kind != op::less_equal) return {};
    const coordinate_sum difference = compared(condition);
    const shape& s = g_.shape_of(condition);
    causal_axes found;
    for (int i = 0; i < static_cast<int>(s.size()); ++i) {
      if (difference.times[i] == 1 && found.key < 0)
        found.key = i;
      else if (difference.times[i] == -1 && found.query < 0)
        found.query = i;
      else if (difference.times[i] != 0)
        return {};
    }
    const std::int64_t last = n.kind == op::less ? -1 : 0;
    if (!difference.known || difference.number != last || found.key < 0 || found.query < 0) return {};
    const std::size_t key = s[static_cast<std::size_t>(found.key)],
                      query = s[static_cast<std::size_t>(found.query)];
    if (!is_run_time_size(key) || !is_run_time_size(query) || equal_.input_of(key) != equal_.input_of(query))
      return {};
    return found;
  }
  constexpr coordinate_sum compared(int condition) const {
    return coordinate_sum_of(g_, g_.operand(condition, 0)) - coordinate_sum_of(g_, g_.operand(condition, 1));
  }
  /// Whether a condition on the coordinates along two axes alone holds where these are equal.
  constexpr bool shows_diagonal(int condition, const causal_axes& of) const {
    const node& n = g_[condition];
    if (n.kind == op::logical_and)
      return shows_diagonal(g_.operand(condition, 0), of) && shows_diagonal(g_.operand(condition, 1), of);
    if (n.kind == op::expand) {
      const auto key = g_.attribute(condition, of.key), query = g_.attribute(condition, of.query);
      return key >= 0 && query >= 0 && shows_diagonal(g_.operand(condition, 0), {key, query});
    }
    if (n.kind != op::less && n.kind != op::less_equal) return false;
    const coordinate_sum difference = compared(condition);
    for (int i = 0; i < static_cast<int>(g_.shape_of(condition).size()); ++i)
      if (i != of.key && i != of.query && difference.times[i] != 0) return false;
    return difference.known && difference.times[of.key] == -difference.times[of.query] &&
           difference.number <= (n.kind == op::less ? -1 : 0);
  }
  /// Sums of products, times numbers: among which none is as low as what hides a score.
  constexpr bool are_scores(int x) const {
    while (g_[x].kind == op::cast || (g_[x].kind == op::mul && g_[g_.operand(x, 1)].kind == op::constant))
      x = g_.operand(x, 0);
    return g_[x].kind == op::einsum;
  }
  /// A node of coordinates and numbers, as they are behind the end too.
  constexpr int bind_coordinates(int id) {
    const node& n = g_[id];
    const shape bounds = known(g_.shape_of(id));
    buffer<std::int32_t> xs;
    for (const std::int32_t x : g_.operands(id)) xs.push_back(bind_coordinates(x));
    return b_.emit({n.kind, n.type, b_.result.intern(bounds), xs, g_.attributes(id), n.value});
  }

  /// Of scores that go into a softmax, where a position sees those up to its own: all behind the end are
  /// hidden.
  constexpr causal_axes hides_behind(int id) const {
    const node& far = g_[g_.operand(id, 2)];
    const bool hides = far.kind == op::constant && far.value <= -1e9;
    if (!hides || exponent_[static_cast<std::size_t>(id)] == 0 || !are_scores(g_.operand(id, 1))) return {};
    const causal_axes found = find_causal(g_.operand(id, 0));
    if (found.key < 0 || (exponent_[static_cast<std::size_t>(id)] >> found.key & 1) == 0) return {};
    return found;
  }

  /// What is known of node id behind the ends of its axes: from a softmax's exponents to its weights.
  constexpr known_behind find_behind(int id) const {
    const node& n = g_[id];
    const auto of_first = [&] { return behind_[static_cast<std::size_t>(g_.operand(id, 0))]; };
    switch (n.kind) {
      case op::cast:
      case op::div:
        return {of_first().zero, 0};
      case op::exp:
        return {of_first().low, 0};
      case op::sub:
        return {0, of_first().low};
      case op::select:
        if (const causal_axes causal = hides_behind(id); causal.key >= 0)
          return {0, std::uint32_t{1} << causal.key};
        return {};
      default:
        return {};
    }
  }

  constexpr int bind(int id) {
    const node& n = g_[id];
    b_.origin = n.origin;
    b_.composite = n.composite;
    b_.when = n.when;
    buffer<std::int32_t> xs;
    for (const std::int32_t x : g_.operands(id)) xs.push_back(now_[static_cast<std::size_t>(x)]);
    const shape bounds = known(g_.shape_of(id));
    if (is_reduction(n.kind)) {
      const std::int32_t x = g_.operand(id, 0);
      if (n.kind == op::sum && g_[x].kind == op::constant) return counted(id);
      const known_behind& behind = behind_[static_cast<std::size_t>(x)];
      const std::uint32_t fine = n.kind == op::sum ? behind.zero : n.kind == op::max ? behind.low : 0;
      xs[0] = masked(x, n.kind, [&](std::size_t i) {
        return (fine >> i & 1) == 0 && reduces(id, static_cast<std::int32_t>(i));
      });
      if (n.kind == op::max && exponent_[static_cast<std::size_t>(x)] != 0) {
        // once for all that reads it, whose sums then need no mask: a softmax stays one
        now_[static_cast<std::size_t>(x)] = xs[0];
        behind_[static_cast<std::size_t>(x)].low = exponent_[static_cast<std::size_t>(x)];
      }
    } else if (n.kind == op::einsum) {
      std::size_t first = 0;
      for (int k = 0; k < n.arity; ++k) {
        const int x = g_.operand(id, k);
        xs[static_cast<std::size_t>(k)] = masked(x, n.kind, [&](std::size_t i) {
          return needs_zero(id, k, g_.attribute(id, static_cast<int>(first + i)));
        });
        first += g_.shape_of(x).size();
      }
    } else if (n.kind == op::gather || n.kind == op::scatter_add) {
      if (there_ == behind_the_end::anything)  // also what is no index
        xs[1] = masked(g_.operand(id, 1), op::sum, [](std::size_t) { return true; });
      if (n.kind == op::scatter_add) {
        const auto at = static_cast<std::size_t>(g_.attribute(id, 0));
        const std::size_t rank = g_.shape_of(g_.operand(id, 1)).size();
        xs[0] = masked(g_.operand(id, 0), op::sum, [&](std::size_t i) { return i >= at && i < at + rank; });
      }
    } else if (n.kind == op::expand || n.kind == op::reshape) {
      bool same = b_.shape_of(xs[0]).size() == bounds.size();
      for (std::size_t i = 0; same && i < bounds.size(); ++i)
        same =
            b_.shape_of(xs[0])[i] == bounds[i] &&
            (n.kind == op::reshape || g_.attribute(id, static_cast<int>(i)) == static_cast<std::int32_t>(i));
      if (same) return xs[0];
      if (n.kind == op::expand) return b_.expand(xs[0], bounds, g_.attributes(id));
      return b_.reshape(xs[0], bounds);
    }
    if (is_elementwise(n.kind) && n.arity == 2) return b_.binary(n.kind, xs[0], xs[1]);
    if (there_ == behind_the_end::benign && n.kind == op::iota) return last_again(id);
    if (there_ == behind_the_end::benign && n.kind == op::select && hides_behind(id).key >= 0)
      xs[0] = bind_coordinates(g_.operand(id, 0));
    return b_.emit({n.kind, n.type, b_.result.intern(bounds), xs, g_.attributes(id), n.value});
  }
};

}  // namespace detail

/// A traced graph at the bounds of its axes. The actual sizes (i32, without axes) are inputs behind those
/// that there are, in the order of `slots_of_run_time_sizes`. Elements behind the end of an axis are what
/// `there` says in operands and anything in results, and nothing that reads across the axis sees them.
constexpr graph bind_run_time_sizes(graph&& g, bool simplify,
                                    behind_the_end there = behind_the_end::anything) {
  if (!has_run_time_sizes(g.view())) return static_cast<graph&&>(g);
  const graph_view view = g.view();
  return detail::run_time_binder(view, simplify, there).make();
}

/// The same at sizes that are given, in the order of `slots_of_run_time_sizes`, of operands that are so long.
constexpr graph at_run_time_sizes(const graph_view& g, bool simplify, const std::size_t* sizes) {
  return detail::run_time_binder(g, simplify, behind_the_end::nothing, sizes).make();
}

}  // namespace napkin
