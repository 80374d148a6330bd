// Reductions over the axes that the attributes list, ascending. apply combines two partial results;
// identity is what an empty one is.
#pragma once

#include <limits>

#include "napkin/core/error.hpp"
#include "napkin/graph/run_time_sizes.hpp"
#include "napkin/ops/primitives/row.hpp"

namespace napkin {

namespace row {

template <op O>
struct reduction : base {
  static constexpr op kind = O;
  static constexpr int arity = 1;
  static constexpr int examples = 3;
  static constexpr double low = -2, high = 2;
  static constexpr int example(builder& g, int variant) {
    const int x = g.input(0, dtype::f64, {3, 2, 4});
    const std::int32_t last[] = {2}, first[] = {0}, ends[] = {0, 2};
    if (variant == 2) return g.reduce(O, x, ends);
    return g.reduce(O, x, variant == 0 ? ids{last} : ids{first});
  }
};

/// A reduced value back at every position that it came from.
constexpr int spread(builder& g, int n, int value) {
  const shape full = g.shape_of(g.operand(n, 0));
  inplace_vector<std::int32_t, max_rank> map;
  std::int32_t next = 0;
  for (std::size_t i = 0, a = 0; i < full.size(); ++i) {
    const bool reduced = a < static_cast<std::size_t>(g[n].attribute_count) &&
                         g.attribute(n, static_cast<int>(a)) == static_cast<std::int32_t>(i);
    if (reduced) ++a;
    map.push_back(reduced ? -1 : next++);
  }
  return g.expand(value, full, {map.data(), map.size()});
}

/// To the positions that attain the extremum; ties share equally, as in PyTorch's amax. They are counted in
/// the accumulator's dtype: bf16 has no number between 256 and 258.
constexpr void extremum_of_axis_gradient(builder& g, int n, int dy, auto give) {
  const int x = g.operand(n, 0);
  const dtype type = g.type_of(x), wide = accumulator_of(type);
  const int attains = g.cast(g.binary(op::equal, x, spread(g, n, n)), wide);
  inplace_vector<std::int32_t, max_rank> axes;
  for (int i = 0; i < g[n].attribute_count; ++i) axes.push_back(g.attribute(n, i));
  const int ties = g.reduce(op::sum, attains, {axes.data(), axes.size()});
  give(0, g.cast(g.mul(attains, spread(g, n, g.div(g.cast(dy, wide), ties))), type));
}

}  // namespace row

template <>
struct primitive<op::sum> : row::reduction<op::sum> {
  static constexpr auto name = "sum";
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) { give(0, row::spread(g, n, dy)); }
};

template <>
struct primitive<op::product> : row::reduction<op::product> {
  static constexpr auto name = "product";
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
  /// The product of all the others, without dividing: right also where an element is zero. Axes are
  /// reduced as one, a second copy of it is laid beside the first, and its diagonal is replaced by ones.
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const int x = g.operand(n, 0);
    const shape full = g.shape_of(x);
    inplace_vector<std::int32_t, max_rank> order, inverse(full.size(), 0);
    shape kept, reduced;
    std::size_t reduced_count = 1;
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t i = 0, a = 0; i < full.size(); ++i) {
        const bool is_reduced = a < static_cast<std::size_t>(g[n].attribute_count) &&
                                g.attribute(n, static_cast<int>(a)) == static_cast<std::int32_t>(i);
        if (is_reduced) ++a;
        if (is_reduced != (pass == 1)) continue;
        inverse[i] = static_cast<std::int32_t>(order.size());
        order.push_back(static_cast<std::int32_t>(i));
        if (is_reduced && g[n].attribute_count > 1 && is_run_time_size(full[i]))
          throw error("prod: of several axes together, one of them sized at run time, there is no gradient");
        if (is_reduced)
          reduced_count *= full[i], reduced.push_back(full[i]);
        else
          kept.push_back(full[i]);
      }
    const int ordered = g.permute(x, {order.data(), order.size()});
    shape ordered_shape = kept;
    for (std::size_t size : reduced) ordered_shape.push_back(size);
    if (kept.size() + 2 > max_rank) {  // the square would have more axes than there may be: they are one
      for (const std::size_t size : kept)
        if (is_run_time_size(size))
          throw error("prod: of so many axes, one of them sized at run time, there is no gradient");
      kept = {numel(kept)};
    }
    shape flat = kept;
    flat.push_back(reduced_count);
    const int row_of = g.reshape(ordered, flat);
    shape square = flat;
    square.push_back(reduced_count);
    inplace_vector<std::int32_t, max_rank> map;
    for (std::size_t i = 0; i < kept.size(); ++i) map.push_back(static_cast<std::int32_t>(i));
    map.push_back(-1);
    map.push_back(static_cast<std::int32_t>(kept.size()));
    const int beside = g.expand(row_of, square, {map.data(), map.size()});
    const int rank = static_cast<int>(kept.size());
    const int on_diagonal =
        g.binary(op::equal, g.iota(rank, dtype::i32, square), g.iota(rank + 1, dtype::i32, square));
    const std::int32_t last = rank + 1;
    const int others = g.reduce(op::product, g.select(on_diagonal, g.ones_like(beside), beside), {&last, 1});
    const int back = g.permute(g.reshape(others, ordered_shape), {inverse.data(), inverse.size()});
    give(0, g.mul(row::spread(g, n, dy), back));
  }
};

template <>
struct primitive<op::max> : row::reduction<op::max> {
  static constexpr auto name = "max";
  template <class T>
  static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? static_cast<T>(-std::numeric_limits<T>::infinity())
                                                : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    row::extremum_of_axis_gradient(g, n, dy, give);
  }
};

template <>
struct primitive<op::min> : row::reduction<op::min> {
  static constexpr auto name = "min";
  template <class T>
  static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    row::extremum_of_axis_gradient(g, n, dy, give);
  }
};

namespace row {
template <op O>
struct quantifier : reduction<O> {
  static constexpr bool differentiable = false;
  static constexpr void gradient(builder&, int, int, auto) {}
};
}  // namespace row

template <>
struct primitive<op::any> : row::quantifier<op::any> {
  static constexpr auto name = "any";
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a != T(0)) | (b != T(0))) ? T(1) : T(0);
  }
};

template <>
struct primitive<op::all> : row::quantifier<op::all> {
  static constexpr auto name = "all";
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a != T(0)) & (b != T(0))) ? T(1) : T(0);
  }
};

}  // namespace napkin
