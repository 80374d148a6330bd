// Scaled dot-product attention: causal, where no position sees a later one, and full.
#pragma once

#include "napkin/core/math.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reshape.hpp"

namespace napkin {

namespace rule {
/// from<Qs...>, to<Ks...>
template <class... Facts>
struct attention_axes_differ {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "causal_attention, full_attention: keys and values must have the same axes, and all of them must be "
      "axes of the queries");
};
}  // namespace rule

namespace detail {

/// x and y multiplied, and summed over the axes that To lacks.
template <class To, class A, class B>
struct contract_op {
  using called = fact::call<"attention">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    inplace_vector<std::int32_t, 2 * max_rank> labels;
    axis_positions result;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(A::rank); ++i) labels.push_back(i);
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(B::rank); ++j) {
      const int shared = find_axis(infos_of<A>::value, infos_of<B>::value[static_cast<std::size_t>(j)].name);
      labels.push_back(shared >= 0 ? shared : static_cast<std::int32_t>(A::rank) + j);
    }
    for (const axis_info& axis : infos_of<To>::value) {
      const int first = find_axis(infos_of<A>::value, axis.name);
      result.push_back(
          first >= 0 ? first : static_cast<std::int32_t>(A::rank) + find_axis(infos_of<B>::value, axis.name));
    }
    return b.einsum({xs, 2}, {labels.data(), labels.size()}, {result.data(), result.size()});
  }
};
template <class To, class A, class B>
constexpr auto contract(const A& a, const B& b) {
  return apply<contract_op<To, axes_of<A>, axes_of<B>>, typename A::element, To>(a, b);
}

template <class A, class B>
constexpr auto visible_of(const auto& x) {  // [A, B]: B at or before A
  using both = axes<A, B>;
  return apply<iota_op<both, 1>, i32, both>(x) <= apply<iota_op<both, 0>, i32, both>(x);
}

/// Every axis of one list is in another, of one size.
template <class Some, class All>
inline constexpr bool all_axes_in = axes_alignment<Some, All>::value.possible;

template <fixed_string Seq, fixed_string Hidden, bool Causal>
struct attention_function {
  template <class Q, class K, class V>
  constexpr auto operator()(const Q& q, const K& k, const V& v) const {
    using named = named_axes<axes_of<Q>, Seq, Hidden>;
    const composite_scope in(composite::attention, q, k, v);
    using query = typename named::template at<0>;
    using key = primed<query>;
    using heads = typename chosen_axes<axes_of<Q>, named>::rest;
    const double scale = 1 / math::sqrt(static_cast<double>(named::template at<1>::size));

    const auto keys = rename<Seq, key>(k);                                        // [..., key, hidden]
    const auto values = rename<Seq, key>(v);                                      // [..., key, hidden]
    const auto scores = contract<joined_axes<heads, axes<query, key>>>(q, keys);  // [..., query, key]
    const auto scaled = scores * number_like(scores, scale);                      // [..., query, key]
    if constexpr (Causal) {
      // Finite, though far below any score: a row that hid everything would still be numbers.
      const auto seen = where(visible_of<query, key>(scaled), scaled, number_like(scaled, -1e30));
      return contract<axes_of<Q>>(softmax<key::name>(seen), values);  // [..., hidden]
    } else {
      return contract<axes_of<Q>>(softmax<key::name>(scaled), values);  // [..., hidden]
    }
  }
};

template <fixed_string Call, fixed_string Seq, fixed_string Hidden, class Q, class K, class V>
constexpr auto find_attention_mistake() {
  if constexpr (is_failed<Q> || is_failed<K> || is_failed<V>)
    return std::type_identity<silent>{};
  else if constexpr (!named_axes<axes_of<Q>, Seq, Hidden>::good)
    return named_axes<axes_of<Q>, Seq, Hidden>::template find_mistake<Call>();
  else if constexpr (!same_axes<axes_of<K>, axes_of<V>> || !all_axes_in<axes_of<K>, axes_of<Q>> ||
                     !named_axes<axes_of<K>, Seq, Hidden>::good)
    return std::type_identity<rule::attention_axes_differ<axes_of<Q>, axes_of<K>, axes_of<V>>>{};
  else
    return find_composite_mistake(std::type_identity<Q>{}, std::type_identity<K>{}, std::type_identity<V>{});
}

}  // namespace detail

/// softmax(q k / sqrt(size of Hidden)) v along axis Seq, over positions up to the query's own. Other axes of
/// keys and values are axes of the queries too, heads and batches; those that only the queries have (the
/// group of heads that share keys) share them.
///
/// Shape     (batch, seq, kv_heads, group, hidden), (batch, seq, kv_heads, hidden) twice -> as the queries
/// Cost      2 matmuls of 2*batch*heads*seq*seq*hidden FLOPs, and a softmax
/// Rules     attention_axes_differ
/// Lowers    cpu: as written, products and a kernel for the softmax; cuda: one kernel, and two backward
///           (passes/find_attention.hpp)
/// Source    Vaswani et al. 2017; Ainslie et al. 2023 for groups
/// Example   auto mixed = nk::causal_attention<"seq", "hidden">(query, key, value);
template <fixed_string Seq, fixed_string Hidden, detail::ElementwiseOperand Q, detail::ElementwiseOperand K,
          detail::ElementwiseOperand V>
constexpr auto causal_attention(const Q& query, const K& key, const V& value) {
  using mistake =
      detail::rule_in<decltype(detail::find_attention_mistake<"causal_attention", Seq, Hidden, Q, K, V>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<Q, K, V>);
  else
    return fn(detail::attention_function<Seq, Hidden, true>{})(query, key, value);
}
/// An axis by type: refused.
template <Axis A, Axis B, class... Xs>
constexpr auto causal_attention(const Xs&...) {
  return detail::types_refused<"causal_attention", axes<A, B>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string A, Axis B, class... Xs>
constexpr auto causal_attention(const Xs&...) {
  return detail::types_refused<"causal_attention", axes<B>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis A, fixed_string B, class... Xs>
constexpr auto causal_attention(const Xs&...) {
  return detail::types_refused<"causal_attention", axes<A>, Xs...>::raise(detail::by<Xs...>);
}

/// The same over all positions, the later ones too.
template <fixed_string Seq, fixed_string Hidden, detail::ElementwiseOperand Q, detail::ElementwiseOperand K,
          detail::ElementwiseOperand V>
constexpr auto full_attention(const Q& query, const K& key, const V& value) {
  using mistake =
      detail::rule_in<decltype(detail::find_attention_mistake<"full_attention", Seq, Hidden, Q, K, V>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<Q, K, V>);
  else
    return fn(detail::attention_function<Seq, Hidden, false>{})(query, key, value);
}
/// An axis by type: refused.
template <Axis A, Axis B, class... Xs>
constexpr auto full_attention(const Xs&...) {
  return detail::types_refused<"full_attention", axes<A, B>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string A, Axis B, class... Xs>
constexpr auto full_attention(const Xs&...) {
  return detail::types_refused<"full_attention", axes<B>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis A, fixed_string B, class... Xs>
constexpr auto full_attention(const Xs&...) {
  return detail::types_refused<"full_attention", axes<A>, Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
