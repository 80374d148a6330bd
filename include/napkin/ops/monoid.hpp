// A reduction of the user's own: an identity, and how two values combine, written in operations on them. It
// becomes a tree of these operations over slices, so that it is lowered and differentiated by what they are.
#pragma once

#include "napkin/ops/reduce.hpp"

namespace napkin {

namespace rule {
/// type<Monoid>
template <class... Facts>
struct monoid_lacks_identity {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "reduce: after the pattern goes a reduction's name, \"sum\", or a type with an identity, a "
      "number: struct { static constexpr double identity = 1; constexpr auto operator()(auto a, auto b) "
      "const { return a * b; } }");
};
/// type<Monoid>
template <class... Facts>
struct monoid_holds_something {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "reduce: a monoid must hold nothing and be made without arguments: it is called in the compiler");
};
/// type<Monoid>, of_type<T>
template <class... Facts>
struct monoid_does_not_combine {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "reduce: the monoid cannot be called with two values: it needs constexpr auto operator()(auto a, "
      "auto b) const");
};
/// type<Monoid>, of_type<T>, type<Result>
template <class... Facts>
struct monoid_gives_another_type {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "reduce: what the monoid makes of two values is not one value of their dtype: cast<T> brings it "
      "back");
};
/// type<Monoid>, of_type<T>
template <class... Facts>
struct identity_does_not_fit {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "reduce: the monoid's identity is no number of the operand's dtype");
};
/// type<Monoid>, operation<op>
template <class... Facts>
struct monoid_is_not_elementwise {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "reduce: a monoid combines two values by elementwise operations, arithmetic, functions and "
      "where; it moves, reduces and contracts nothing");
};
}  // namespace rule

namespace detail {

template <class M>
concept HasIdentity = requires {
  {static_cast<double>(M::identity)};
};

/// What two values combine to: a graph of scalars, whose inputs are the left and the right one.
template <class M, class T>
struct combination {
  static constexpr graph make() {
    builder b;
    const traced<T> left(&b, b.input(0, dtype_of<T>, {})), right(&b, b.input(1, dtype_of<T>, {}));
    b.output(node_of(b, M{}(left, right)));
    return b.take();
  }
  /// The first operation that is not elementwise.
  static constexpr op stranger() {
    const graph g = make();
    for (const node& n : g.nodes) {
      const bool keeps = n.kind == op::expand || n.kind == op::reshape;  // of scalars: nothing
      const bool fine = is_elementwise(n.kind) || n.kind == op::input || n.kind == op::constant || keeps;
      if (!fine) return n.kind;
    }
    return op::input;
  }
  /// The same of whole tensors, which have one shape.
  static constexpr std::int32_t emit(builder& b, const graph& g, std::int32_t left, std::int32_t right) {
    const graph_view v = g.view();
    const std::int32_t shape_id = b[left].shape_id;
    buffer<std::int32_t> now, xs;
    for (int id = 0; id < static_cast<int>(v.size()); ++id) {
      const node& n = v[id];
      xs.clear();
      for (const std::int32_t x : v.operands(id)) xs.push_back(now[static_cast<std::size_t>(x)]);
      if (n.kind == op::input)
        now.push_back(v.attribute(id, 0) == 0 ? left : right);
      else if (is_elementwise(n.kind))
        now.push_back(b.emit({n.kind, n.type, shape_id, {xs.data(), xs.size()}, v.attributes(id), n.value}));
      else if (n.kind == op::constant)
        now.push_back(b.constant_like(n.value, n.type, shape_id));
      else
        now.push_back(xs[0]);
    }
    return now[static_cast<std::size_t>(v.output_ids()[0])];
  }
};

template <class T>
constexpr bool holds_number(double x) {
  if (is_floating(dtype_of<T>)) return true;
  if (dtype_of<T> == dtype::b8) return x == 0 || x == 1;
  constexpr double end = 9223372036854775808.0;  // 2^63
  if (!(x >= -end && x < end)) return false;
  const auto whole = static_cast<std::int64_t>(x);
  return static_cast<double>(whole) == x && static_cast<std::int64_t>(static_cast<T>(whole)) == whole;
}

/// The reduction by a monoid on elements of T: the rule that it breaks, and how it is traced.
template <class M, class T>
struct reduction_by_monoid {
  using called = fact::call<"reduce">;
  using element = T;
  static constexpr auto find_mistake() {
    using value = traced<T>;
    using type = fact::of_type<dtype_of<T>>;
    if constexpr (!HasIdentity<M>) {
      return std::type_identity<rule::monoid_lacks_identity<fact::type<M>>>{};
    } else if constexpr (!std::is_empty_v<M> || !std::is_default_constructible_v<M>) {
      return std::type_identity<rule::monoid_holds_something<fact::type<M>>>{};
    } else if constexpr (!std::is_invocable_v<const M&, const value&, const value&>) {
      return std::type_identity<rule::monoid_does_not_combine<fact::type<M>, type>>{};
    } else {
      using result = std::remove_cvref_t<std::invoke_result_t<const M&, const value&, const value&>>;
      if constexpr (is_failed<result>)
        return std::type_identity<silent>{};
      else if constexpr (!std::is_same_v<result, value>)
        return std::type_identity<rule::monoid_gives_another_type<fact::type<M>, type, fact::type<result>>>{};
      else if constexpr (!holds_number<T>(static_cast<double>(M::identity)))
        return std::type_identity<rule::identity_does_not_fit<fact::type<M>, type>>{};
      else if constexpr (combination<M, T>::stranger() != op::input)
        return std::type_identity<
            rule::monoid_is_not_elementwise<fact::type<M>, fact::operation<combination<M, T>::stranger()>>>{};
      else
        return std::type_identity<accepted>{};
    }
  }
  using mistake = typename decltype(find_mistake())::type;

  static constexpr std::int32_t emit(builder& b, std::int32_t x, ids over) {
    if (over.empty()) return x;
    const shape full = b.shape_of(x);
    shape kept;
    inplace_vector<std::int32_t, max_rank> order;
    std::size_t count = 1;
    for (std::size_t i = 0, r = 0; i < full.size(); ++i) {
      if (r < over.size() && over[r] == static_cast<std::int32_t>(i)) {
        count *= full[i];
        ++r;
      } else {
        kept.push_back(full[i]);
        order.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (count == 0) return b.constant(static_cast<double>(M::identity), dtype_of<T>, kept);
    // What is combined becomes one axis: the first where it begins there, else the last.
    const std::size_t at = over[0] == 0 ? 0 : kept.size();
    for (std::size_t r = 0; r < over.size(); ++r) order.insert((at == 0 ? 0 : kept.size()) + r, over[r]);
    shape rows = kept;
    rows.insert(at, count);
    bool moves = false;
    for (std::size_t i = 0; i < order.size(); ++i) moves = moves || order[i] != static_cast<std::int32_t>(i);
    x = b.reshape(moves ? b.permute(x, {order.data(), order.size()}) : x, rows);
    return b.reshape(tree(b, x, at, count), kept);
  }

 private:
  static constexpr std::int32_t part(builder& b, std::int32_t x, std::size_t axis, std::size_t begin,
                                     std::size_t size, std::int32_t step) {
    shape to = b.shape_of(x);
    inplace_vector<std::int32_t, max_rank> start(to.size(), 0), steps(to.size(), 1);
    to[axis] = size;
    start[axis] = place_attribute(static_cast<std::ptrdiff_t>(begin));
    steps[axis] = step;
    return b.slice(x, to, {start.data(), start.size()}, {steps.data(), steps.size()});
  }

  /// Neighbours combine, again and again; a last one without a neighbour waits, and all who waited combine
  /// at the end, the rightmost last: n - 1 combinations in all, in order, 2 log2(n) deep at most.
  static constexpr std::int32_t tree(builder& b, std::int32_t x, std::size_t axis, std::size_t count) {
    const graph pair = combination<M, T>::make();
    buffer<std::int32_t> waiting;
    for (; count > 1; count /= 2) {
      if (count % 2 != 0) waiting.push_back(part(b, x, axis, count - 1, 1, 1));
      const std::int32_t left = part(b, x, axis, 0, count / 2, 2);
      x = combination<M, T>::emit(b, pair, left, part(b, x, axis, 1, count / 2, 2));
    }
    for (std::size_t i = waiting.size(); i-- > 0;) x = combination<M, T>::emit(b, pair, x, waiting[i]);
    return x;
  }
};

}  // namespace detail

}  // namespace napkin
