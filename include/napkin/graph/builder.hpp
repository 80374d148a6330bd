// Appending nodes to a graph: the untyped counterpart of the public operations, used by traced values, by
// gradient rules and by passes. Shapes must already agree (ops/ expands by name); a builder whose
// `simplify` is set folds constants, drops identities and reuses equal nodes as it goes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "napkin/core/inplace_vector.hpp"
#include "napkin/core/math_bits.hpp"
#include "napkin/graph/graph.hpp"

namespace napkin {

inline constexpr std::size_t max_labels = 64;  // distinct labels of one einsum

/// A node to be, before it has a place: what `builder::emit` takes.
struct draft {
  op kind = op::input;
  dtype type = dtype::f32;
  std::int32_t shape_id = 0;
  ids operands;
  ids attributes;
  double value = 0;
};

class builder {
 public:
  graph result;
  bool simplify = false;
  std::int32_t origin = -1;  // stamped on each new node
  std::uint16_t composite = 0;
  computed when = computed::once;

  constexpr graph_view view() const { return result.view(); }
  constexpr const node& operator[](int id) const { return result.nodes.items[id]; }
  constexpr const shape& shape_of(int id) const {
    return result.shapes.items[result.nodes.items[id].shape_id];
  }
  constexpr dtype type_of(int id) const { return result.nodes.items[id].type; }
  constexpr int size() const { return static_cast<int>(result.nodes.count); }
  constexpr int operand(int id, int k) const {
    return result.pool.items[result.nodes.items[id].first_operand + k];
  }
  constexpr int attribute(int id, int k) const {
    return result.pool.items[result.nodes.items[id].first_attribute + k];
  }

  // ---- leaves
  constexpr int input(int slot, dtype t, const shape& s) {
    return leaf(op::input, t, result.intern(s), slot, 0);
  }
  constexpr int constant(double value, dtype t, const shape& s) {
    return constant_like(value, t, result.intern(s));
  }
  constexpr int constant_like(double value, dtype t, std::int32_t shape_id) {
    return emit({op::constant, t, shape_id, {}, {}, value});
  }
  /// The coordinate along one axis, at every position of the shape.
  constexpr int iota(int axis, dtype t, const shape& s) {
    return leaf(op::iota, t, result.intern(s), axis, 0);
  }

  // ---- elementwise
  constexpr int unary(op o, int x) {
    if (simplify) {
      if (o == op::neg && (*this)[x].kind == op::neg) return operand(x, 0);
      if (o == op::neg && (*this)[x].kind == op::constant && is_floating(type_of(x)))
        return constant_like(-(*this)[x].value, type_of(x), (*this)[x].shape_id);
    }
    return elementwise(o, o == op::logical_not ? dtype::b8 : type_of(x), {x});
  }
  constexpr int cast(int x, dtype t) {
    if (type_of(x) == t) return x;
    // A narrower coordinate is rounded already; as whole numbers it wraps, where floats are cut off.
    const bool exact = type_of(x) == dtype::i32 || type_of(x) == dtype::i64 || type_of(x) == dtype::f64;
    const bool same = is_floating(t) || (t != dtype::b8 && type_of(x) != dtype::f64);
    if (simplify && (*this)[x].kind == op::iota && exact && same)
      return leaf(op::iota, t, (*this)[x].shape_id, attribute(x, 0), 0);
    // numbers that every float has
    if (simplify && is_floating(type_of(x)) && is_floating(t) && (is_constant(x, 0) || is_constant(x, 1)))
      return constant_like((*this)[x].value, t, (*this)[x].shape_id);
    if (simplify && (*this)[x].kind == op::cast && widens(type_of(operand(x, 0)), type_of(x)))
      return cast(operand(x, 0), t);
    return elementwise(op::cast, t, {x});
  }
  constexpr int binary(op o, int a, int b) {
    if (simplify) {
      const int same = identity_of(o, a, b);
      if (same >= 0) return same;
    }
    const bool compares = o == op::equal || o == op::less || o == op::less_equal;
    return elementwise(o, compares ? dtype::b8 : type_of(a), {a, b});
  }
  constexpr int add(int a, int b) { return binary(op::add, a, b); }
  constexpr int sub(int a, int b) { return binary(op::sub, a, b); }
  constexpr int mul(int a, int b) { return binary(op::mul, a, b); }
  constexpr int div(int a, int b) { return binary(op::div, a, b); }
  constexpr int scale(int a, double factor) {
    return mul(a, constant_like(factor, type_of(a), (*this)[a].shape_id));
  }
  constexpr int select(int condition, int yes, int no) {
    return elementwise(op::select, type_of(yes), {condition, yes, no});
  }
  constexpr int fma(int a, int b, int c) { return elementwise(op::fma, type_of(a), {a, b, c}); }
  constexpr int zeros_like(int x) { return constant_like(0, type_of(x), (*this)[x].shape_id); }
  constexpr int ones_like(int x) { return constant_like(1, type_of(x), (*this)[x].shape_id); }

  // ---- movement
  /// Axis i of the result is axis map[i] of x, or a new axis along which x repeats where map[i] is -1.
  constexpr int expand(int x, const shape& to, ids map) {
    const std::int32_t to_id = result.intern(to);
    if (simplify) {
      const node& n = (*this)[x];
      if (n.kind == op::constant) return constant_like(n.value, n.type, to_id);
      bool same = n.shape_id == to_id;
      for (std::size_t i = 0; i < map.size(); ++i) same = same && map[i] == static_cast<std::int32_t>(i);
      if (same) return x;
      if (n.kind == op::iota) {
        for (std::size_t i = 0; i < map.size(); ++i)
          if (map[i] == attribute(x, 0))
            return leaf(op::iota, n.type, to_id, static_cast<std::int32_t>(i), 0);
      }
      if (n.kind == op::expand) {
        inplace_vector<std::int32_t, max_rank> composed;
        for (std::int32_t m : map) composed.push_back(m < 0 ? -1 : attribute(x, m));
        const int base = operand(x, 0);
        return expand(base, to, {composed.data(), composed.size()});
      }
    }
    return movement(op::expand, x, to_id, map);
  }
  /// A number, of no axes, everywhere.
  constexpr int fill(int number, const shape& to) {
    inplace_vector<std::int32_t, max_rank> map;
    for (std::size_t i = 0; i < to.size(); ++i) map.push_back(-1);
    return expand(number, to, {map.data(), map.size()});
  }
  constexpr int permute(int x, ids map) {
    shape to;
    for (std::int32_t m : map) to.push_back(shape_of(x)[static_cast<std::size_t>(m)]);
    return expand(x, to, map);
  }
  constexpr int reshape(int x, const shape& to) {
    const std::int32_t to_id = result.intern(to);
    if ((*this)[x].shape_id == to_id) return x;
    if (simplify) {
      const node& n = (*this)[x];
      if (n.kind == op::constant) return constant_like(n.value, n.type, to_id);
      if (n.kind == op::reshape) return reshape(operand(x, 0), to);
    }
    return movement(op::reshape, x, to_id, {});
  }
  /// Elements start[i] + j * step[i], j < to[i], of each axis; a negative step reads backwards.
  constexpr int slice(int x, const shape& to, ids start, ids step) {
    if (simplify && (*this)[x].kind == op::constant) return constant((*this)[x].value, type_of(x), to);
    std::int32_t both[2 * max_rank] = {};
    return movement(op::slice, x, result.intern(to), joined(start, step, both));
  }
  /// Zeros of shape `to` with x at start[i] + j * step[i]: slice's adjoint.
  constexpr int pad(int x, const shape& to, ids start, ids step) {
    std::int32_t both[2 * max_rank] = {};
    return movement(op::pad, x, result.intern(to), joined(start, step, both));
  }
  /// Axis i of x becomes axis map[i] of the result; axes that share one are walked together.
  constexpr int diagonal(int x, const shape& to, ids map) {
    return movement(op::diagonal, x, result.intern(to), map);
  }
  /// One axis becomes two, positions and the taps of a window on each: tap k of position i is what x has at
  /// start + i * step + k * dilation along the axis. Windows may overlap; a dilation may be negative.
  constexpr int window(int x, int axis, std::size_t positions, std::size_t taps, int start, int step,
                       int dilation) {
    const auto at = static_cast<std::size_t>(axis);
    shape to = shape_of(x);
    const bool covers = start == 0 && to[at] == positions * taps;
    to[at] = positions;
    to.insert(at + 1, taps);
    // windows side by side: the same elements in the same order
    if (covers && dilation == 1 && (step == static_cast<int>(taps) || positions <= 1)) return reshape(x, to);
    const std::int32_t walk[] = {axis, start, step, dilation};
    return movement(op::window, x, result.intern(to), walk);
  }
  constexpr int concat(ids xs, int axis) {
    shape to = shape_of(xs[0]);
    for (std::size_t k = 1; k < xs.size(); ++k)
      to[static_cast<std::size_t>(axis)] += shape_of(xs[k])[static_cast<std::size_t>(axis)];
    const std::int32_t attribute = axis;
    return emit({op::concat, type_of(xs[0]), result.intern(to), xs, {&attribute, 1}, 0});
  }

  // ---- reductions
  /// Over the listed axes, ascending; they vanish from the shape.
  constexpr int reduce(op o, int x, ids axes) {
    if (axes.empty()) return x;
    shape to;
    const shape& from = shape_of(x);  // valid until `to` is interned
    std::size_t next = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (next < axes.size() && static_cast<std::size_t>(axes[next]) == i)
        ++next;
      else
        to.push_back(from[i]);
    }
    const dtype t = o == op::any || o == op::all ? dtype::b8 : type_of(x);
    const std::int32_t operand = x;
    return emit({o, t, result.intern(to), {&operand, 1}, axes, 0});
  }

  // ---- contraction: labels of each operand's axes in turn, then of the result's
  constexpr int einsum(ids xs, ids labels, ids result_labels, objective order = objective::least_time) {
    shape to;
    for (const std::int32_t wanted : result_labels) {
      const std::int32_t* label = labels.begin();
      std::size_t size = 0;
      for (const std::int32_t x : xs)
        for (const std::size_t s : shape_of(x))
          if (*label++ == wanted) size = s;
      to.push_back(size);
    }
    buffer<std::int32_t> attributes;
    attributes.reserve(labels.size() + result_labels.size());
    attributes.append(labels.data(), labels.size());
    attributes.append(result_labels.data(), result_labels.size());
    return emit({op::einsum,
                 type_of(xs[0]),
                 result.intern(to),
                 xs,
                 {attributes.data(), attributes.size()},
                 static_cast<double>(order)});
  }

  // ---- by index
  /// table's `axis` is replaced by the axes of `index`, an integer tensor.
  constexpr int gather(int table, int index, int axis) {
    shape to;
    for (std::size_t i = 0; i < shape_of(table).size(); ++i) {
      if (i == static_cast<std::size_t>(axis))
        for (std::size_t size : shape_of(index)) to.push_back(size);
      else
        to.push_back(shape_of(table)[i]);
    }
    const std::int32_t operands[] = {table, index}, attribute = axis;
    return emit({op::gather, type_of(table), result.intern(to), operands, {&attribute, 1}, 0});
  }
  /// Zeros of shape `to` where values are added at index along `axis`: gather's adjoint.
  constexpr int scatter_add(int values, int index, const shape& to, int axis) {
    const std::int32_t operands[] = {values, index}, attribute = axis;
    return emit({op::scatter_add, type_of(values), result.intern(to), operands, {&attribute, 1}, 0});
  }

  constexpr void output(int id) { result.outputs.push_back(id); }

  /// Make room for nodes in all, so that neither they nor the table of known ones is moved on the way.
  constexpr void reserve(std::size_t nodes) {
    result.nodes.reserve(nodes);
    expected_ = nodes;
  }
  /// The graph built, which the builder no longer has.
  constexpr graph take() { return static_cast<graph&&>(result); }

  /// Append a node (or, when simplifying, find its equal). Every other function ends here.
  constexpr int emit(const draft& d) {
    return emit(d.kind, d.type, d.shape_id, d.operands.data(), static_cast<std::int32_t>(d.operands.size()),
                d.attributes.data(), static_cast<std::int32_t>(d.attributes.size()), d.value);
  }

 private:
  buffer<std::int32_t> table_;  // ids + 1 by open addressing, 0 is empty; of a few nodes there is none
  std::size_t expected_ = 0;    // nodes

  // In few steps, hardly any of them a call: every expression's graph is built so in constant evaluation.
  constexpr int emit(op kind, dtype type, std::int32_t shape_id, const std::int32_t* operands,
                     std::int32_t arity, const std::int32_t* attributes, std::int32_t attribute_count,
                     double value) {
    const auto id = static_cast<std::int32_t>(result.nodes.count);
    const auto at = static_cast<std::int32_t>(result.pool.count);
    if (simplify) {
      const int known = find(id, kind, type, shape_id, operands, arity, attributes, attribute_count, value);
      if (known >= 0) return known;
    }
    const std::size_t needed = result.pool.count + static_cast<std::size_t>(arity + attribute_count);
    if (needed > result.pool.room) result.pool.reserve(2 * needed + 8);
    std::int32_t* to = result.pool.items + at;
    for (const std::int32_t* const end = operands + arity; operands != end;) *to++ = *operands++;
    for (const std::int32_t* const end = attributes + attribute_count; attributes != end;)
      *to++ = *attributes++;
    result.pool.count = needed;
    if (result.nodes.count == result.nodes.room) result.nodes.reserve(2 * result.nodes.count + 8);
    result.nodes.items[id] = {kind,   type, composite, shape_id, at, arity, at + arity, attribute_count,
                              origin, when, value};
    result.nodes.count = static_cast<std::size_t>(id) + 1;
    return id;
  }
  /// The node equal to this one, -1 if there is none: it will be the next. A few are looked through, which
  /// takes a constant evaluation less than a hash of each.
  constexpr int find(std::int32_t id, op kind, dtype type, std::int32_t shape_id,
                     const std::int32_t* operands, std::int32_t arity, const std::int32_t* attributes,
                     std::int32_t attribute_count, double value) {
    if (id < few) {
      for (const node *n = result.nodes.items, *const end = n + id; n != end; ++n)
        if (n->kind == kind && n->shape_id == shape_id &&
            equals(*n, type, operands, arity, attributes, attribute_count, value))
          return static_cast<int>(n - result.nodes.items);
      return -1;
    }
    if (table_.size() < 2 * (static_cast<std::size_t>(id) + 1)) rehash(2 * static_cast<std::size_t>(id));
    const std::size_t mask = table_.size() - 1;
    std::int32_t* const table = table_.data();
    std::size_t key = hash(kind, type, shape_id, value, operands, static_cast<std::size_t>(arity), attributes,
                           static_cast<std::size_t>(attribute_count)) &
                      mask;
    for (; table[key] > 0; key = (key + 1) & mask) {
      const node& n = result.nodes.items[table[key] - 1];
      if (n.kind == kind && n.shape_id == shape_id &&
          equals(n, type, operands, arity, attributes, attribute_count, value))
        return table[key] - 1;
    }
    table[key] = id + 1;
    return -1;
  }
  static constexpr int few = 8;
  constexpr bool equals(const node& n, dtype type, const std::int32_t* operands, std::int32_t arity,
                        const std::int32_t* attributes, std::int32_t attribute_count, double value) const {
    if (n.type != type || n.arity != arity || n.attribute_count != attribute_count || n.when != when ||
        std::bit_cast<std::uint64_t>(n.value) != std::bit_cast<std::uint64_t>(value))
      return false;
    const std::int32_t* known = result.pool.items + n.first_operand;
    for (std::int32_t i = 0; i < arity; ++i)
      if (*known++ != operands[i]) return false;
    known = result.pool.items + n.first_attribute;
    for (std::int32_t i = 0; i < attribute_count; ++i)
      if (*known++ != attributes[i]) return false;
    return true;
  }

  constexpr int leaf(op o, dtype t, std::int32_t shape_id, std::int32_t attribute, double value) {
    return emit(o, t, shape_id, nullptr, 0, &attribute, 1, value);
  }
  constexpr int elementwise(op o, dtype t, std::initializer_list<std::int32_t> xs) {
    return emit(o, t, result.nodes.items[*xs.begin()].shape_id, xs.begin(),
                static_cast<std::int32_t>(xs.size()), nullptr, 0, 0);
  }
  constexpr int movement(op o, std::int32_t x, std::int32_t shape_id, ids attributes) {
    return emit({o, type_of(x), shape_id, {&x, 1}, attributes, 0});
  }
  static constexpr ids joined(ids a, ids b, std::int32_t (&to)[2 * max_rank]) {
    for (std::size_t i = 0; i < a.size(); ++i) to[i] = a[i];
    for (std::size_t i = 0; i < b.size(); ++i) to[a.size() + i] = b[i];
    return {to, a.size() + b.size()};
  }
  /// A cast that loses nothing: rounding after it gives what rounding without it would have.
  static constexpr bool widens(dtype from, dtype to) {
    return is_floating(from) && is_floating(to) && size_of(from) < size_of(to);
  }
  constexpr bool is_constant(int x, double value) const {
    return (*this)[x].kind == op::constant && (*this)[x].value == value;
  }
  /// x + 0, x * 1, x / 1, x - 0 are x: exact in every dtype but for the sign of zero, and constants fold.
  constexpr int identity_of(op o, int a, int b) {
    const bool a_is_constant = (*this)[a].kind == op::constant,
               b_is_constant = (*this)[b].kind == op::constant;
    if (!a_is_constant && !b_is_constant) return -1;
    if (o == op::mul && is_constant(b, 1)) return a;
    if (o == op::mul && is_constant(a, 1)) return b;
    if (o == op::div && is_constant(b, 1)) return a;
    if (o == op::add && is_constant(b, 0)) return a;
    if (o == op::add && is_constant(a, 0)) return b;
    if (o == op::sub && is_constant(b, 0)) return a;
    if (a_is_constant && b_is_constant && (type_of(a) == dtype::f64 || type_of(a) == dtype::f32))
      return folded(o, a, b);
    return -1;
  }
  /// Of two constants of f32 or f64, as a kernel computes it; -1 for other operations, or too large for a
  /// constant evaluation, which may not reach infinity. One operation on floats in f64, rounded, is theirs.
  constexpr int folded(op o, int a, int b) {
    const bool is_f32 = type_of(a) == dtype::f32;
    const double most = is_f32 ? 1e18 : 1e150, least = 1 / most;
    const auto fits = [&](double x) { return x == 0 || (math::abs(x) < most && math::abs(x) > least); };
    const auto rounded = [&](double x) { return is_f32 ? static_cast<double>(static_cast<float>(x)) : x; };
    const double x = (*this)[a].value, y = (*this)[b].value;
    if (!fits(x) || !fits(y)) return -1;
    const double p = rounded(x), q = rounded(y);
    double r = 0;
    if (o == op::add)
      r = p + q;
    else if (o == op::sub)
      r = p - q;
    else if (o == op::mul)
      r = p * q;
    else if (o == op::div && q != 0)
      r = p / q;
    else
      return -1;
    return constant_like(rounded(r), type_of(a), (*this)[a].shape_id);
  }
  static constexpr std::size_t hash(op kind, dtype type, std::int32_t shape_id, double value,
                                    const std::int32_t* operands, std::size_t arity,
                                    const std::int32_t* attributes, std::size_t attribute_count) {
    std::uint64_t h = (static_cast<std::uint64_t>(kind) * 31 + static_cast<std::uint64_t>(type)) * 1000003 +
                      static_cast<std::uint64_t>(shape_id);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    h ^= bits ^ (bits >> 32);  // small numbers differ in their high bits only
    for (const std::int32_t* end = operands + arity; operands != end;)
      h = h * 1000003 + static_cast<std::uint64_t>(*operands++);
    for (const std::int32_t* end = attributes + attribute_count; attributes != end;)
      h = h * 1000003 + static_cast<std::uint64_t>(*attributes++);
    return static_cast<std::size_t>((h * 0x9e3779b97f4a7c15u) >> 32);  // the low bits are used: mix
  }
  constexpr void rehash(std::size_t nodes) {
    std::size_t capacity = 32;
    while (capacity < 2 * (nodes + 1) || capacity < 2 * (expected_ + 1)) capacity *= 2;
    table_ = buffer<std::int32_t>(capacity);
    for (int id = 0; id < size(); ++id) {
      const node& n = (*this)[id];
      std::size_t key = hash(n.kind, n.type, n.shape_id, n.value, result.pool.data() + n.first_operand,
                             static_cast<std::size_t>(n.arity), result.pool.data() + n.first_attribute,
                             static_cast<std::size_t>(n.attribute_count)) &
                        (capacity - 1);
      while (table_[key] > 0) key = (key + 1) & (capacity - 1);
      table_[key] = id + 1;
    }
  }
};

}  // namespace napkin
