// Scaled dot-product attention: causal, where no position sees a later one, or none too far behind, and full;
// with a mask or without.
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
/// call<"f">, given<how many>
template <class... Facts>
struct attention_lacks_operands {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "causal_attention, full_attention: they take queries, keys and values: causal_attention<\"seq\", "
      "\"hidden\">(query, key, value)");
};
/// axes<...> of the mask, its dtype, axes<...> of the scores
template <class... Facts>
struct attention_mask_differs {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "causal_attention, full_attention: a mask is b8, true where a query sees a key, or of the queries' "
      "dtype, to be added; its axes must be the keys' position, which is the primed axis, and any of the "
      "queries' but the width");
};
}  // namespace rule

namespace detail {

template <fixed_string Call, class... Xs>
using attention_misfit =
    unless_failed<rule::attention_lacks_operands<fact::call<Call>, fact::given<sizeof...(Xs)>>, Xs...>;

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
template <class A, class B, std::size_t Window>
constexpr auto near_of(const auto& x) {  // [A, B]: B less than Window before A
  using both = axes<A, B>;
  const auto before = apply<iota_op<both, 0>, i32, both>(x) - apply<iota_op<both, 1>, i32, both>(x);
  return before < number_like(before, static_cast<double>(Window));
}

/// Every axis of one list is in another, of one size.
template <class Some, class All>
inline constexpr bool all_axes_in = axes_alignment<Some, All>::value.possible;

/// The axes of an attention on queries Q.
template <fixed_string Seq, fixed_string Hidden, class Q>
struct attention_axes {
  using named = named_axes<axes_of<Q>, Seq, Hidden>;
  using query = typename named::template at<0>;
  using key = primed<query>;
  using heads = typename chosen_axes<axes_of<Q>, named>::rest;
  using scores = joined_axes<heads, axes<query, key>>;
  static constexpr std::size_t width = named::template at<1>::size;
};

/// Window: how many positions up to its own a query sees; 0: all.
template <fixed_string Seq, fixed_string Hidden, bool Causal, std::size_t Window = 0>
struct attention_function {
  template <class Q, class K, class V, class... Mask>
  constexpr auto operator()(const Q& q, const K& k, const V& v, const Mask&... mask) const {
    const composite_scope in(composite::attention, q, k, v);
    using of = attention_axes<Seq, Hidden, Q>;
    using query = typename of::query;
    using key = typename of::key;
    const double scale = 1 / math::sqrt(static_cast<double>(of::width));

    const auto keys = rename<Seq, key>(k);                         // [..., key, hidden]
    const auto values = rename<Seq, key>(v);                       // [..., key, hidden]
    const auto products = contract<typename of::scores>(q, keys);  // [..., query, key]
    const auto scaled = products * number_like(products, scale);   // [..., query, key]
    const auto scores = masked(scaled, mask...);                   // [..., query, key]
    if constexpr (Causal && Window > 0) {
      const auto seen = visible_of<query, key>(scores) && near_of<query, key, Window>(scores);
      return contract<axes_of<Q>>(softmax<key::name>(shown(seen, scores)), values);  // [..., hidden]
    } else if constexpr (Causal) {
      return contract<axes_of<Q>>(softmax<key::name>(shown(visible_of<query, key>(scores), scores)),
                                  values);  // [..., hidden]
    } else {
      return contract<axes_of<Q>>(softmax<key::name>(scores), values);  // [..., hidden]
    }
  }

 private:
  /// Finite, though far below any score: a row that hid everything would still be numbers.
  static constexpr auto shown(const auto& seen, const auto& scores) {
    return where(seen, scores, number_like(scores, -1e30));
  }
  static constexpr auto masked(const auto& scores) { return scores; }
  template <class M>
  static constexpr auto masked(const auto& scores, const M& mask) {
    if constexpr (std::is_same_v<typename M::element, b8>)
      return shown(mask, scores);
    else
      return scores + mask;
  }
};

/// Has it no axis of keys, it hides all of a query's or nothing: one along the queries was meant for keys.
template <class Mask, class Q, class Axes>
inline constexpr bool is_attention_mask =
    (std::is_same_v<typename Mask::element, b8> ||
     std::is_same_v<
         typename Mask::element,
         typename Q::element>)&&all_axes_in<axes_of<Mask>,
                                            typename Axes::scores>&& all_axes_in<axes<typename Axes::key>,
                                                                                 axes_of<Mask>>;

template <fixed_string Seq, fixed_string Hidden, bool Causal, std::size_t Window>
constexpr auto find_attention() {
  return std::type_identity<attention_function<Seq, Hidden, Causal, Window>>{};
}
/// As `spelled` is (core/fixed_string.hpp).
template <fixed_string Seq, fixed_string Hidden, bool Causal, std::size_t Window = 0>
using attention_along = typename decltype(find_attention<Seq, Hidden, Causal, Window>())::type;

template <fixed_string Call, fixed_string Seq, fixed_string Hidden, class Q, class K, class V, class... Mask>
constexpr auto find_attention_mistake() {
  if constexpr (is_failed<Q> || is_failed<K> || is_failed<V> || (is_failed<Mask> || ...))
    return std::type_identity<silent>{};
  else if constexpr (!named_axes<axes_of<Q>, Seq, Hidden>::good)
    return named_axes<axes_of<Q>, Seq, Hidden>::template find_mistake<Call>();
  else if constexpr (!same_axes<axes_of<K>, axes_of<V>> || !all_axes_in<axes_of<K>, axes_of<Q>> ||
                     !named_axes<axes_of<K>, Seq, Hidden>::good)
    return std::type_identity<rule::attention_axes_differ<axes_of<Q>, axes_of<K>, axes_of<V>>>{};
  else if constexpr (!(is_attention_mask<Mask, Q, attention_axes<Seq, Hidden, Q>> && ...))
    return std::type_identity<rule::attention_mask_differs<
        axes_of<Mask>..., typename Mask::element..., typename attention_axes<Seq, Hidden, Q>::scores>>{};
  else
    return find_composite_mistake(std::type_identity<Q>{}, std::type_identity<K>{}, std::type_identity<V>{});
}

}  // namespace detail

/// softmax(q k / sqrt(size of Hidden)) v along axis Seq, over positions up to the query's own, and of these,
/// if Window is not 0, the last Window. Other axes of keys and values are axes of the queries too, heads and
/// batches; those that only the queries have (the group of heads that share keys) share them.
///
/// A mask may stand behind the values: b8, true where a query sees a key, or numbers of the queries' dtype
/// that are added to the scores. It has the keys' position, as the primed axis (`primed<seq>`, "seq'"), and
/// any of the queries' axes but the width. A query that it shows no key mixes all values alike.
///
/// Shape     (batch, seq, kv_heads, group, hidden), (batch, seq, kv_heads, hidden) twice -> as the queries
/// Cost      2 matmuls of 2*batch*heads*seq*seq*hidden FLOPs, and a softmax
/// Rules     attention_axes_differ, attention_mask_differs
/// Lowers    cpu: as written, products and a kernel for the softmax; cuda: one kernel, and two backward, or
///           one of few keys, if no gradient of a mask is asked for (passes/find_attention.hpp)
/// Source    Vaswani et al. 2017; Ainslie et al. 2023 for groups; Beltagy et al. 2020 for windows
/// Example   auto mixed = nk::causal_attention<"seq", "hidden">(query, key, value);
///           auto near = nk::causal_attention<"seq", "hidden", 256>(query, key, value);
///           auto words = nk::rename<"seq", nk::primed<seq>>(is_word);   // [batch, seq']
///           auto read = nk::full_attention<"seq", "hidden">(query, key, value, words);
template <fixed_string Seq, fixed_string Hidden, std::size_t Window = 0, detail::ElementwiseOperand Q,
          detail::ElementwiseOperand K, detail::ElementwiseOperand V, detail::ElementwiseOperand... Mask>
requires(sizeof...(Mask) <= 1) constexpr auto causal_attention(const Q& query, const K& key, const V& value,
                                                               const Mask&... mask) {
  using mistake = detail::rule_in<
      decltype(detail::find_attention_mistake<"causal_attention", Seq, Hidden, Q, K, V, Mask...>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<Q, K, V, Mask...>);
  else
    return fn(detail::attention_along<Seq, Hidden, true, Window>{})(query, key, value, mask...);
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

template <fixed_string Seq, fixed_string Hidden, detail::ElementwiseOperand... Xs>
requires(sizeof...(Xs) < 3) constexpr auto causal_attention(const Xs&...) {  // refused
  return detail::attention_misfit<"causal_attention", Xs...>::raise(detail::by<Xs...>);
}

/// The same over all positions, the later ones too.
template <fixed_string Seq, fixed_string Hidden, detail::ElementwiseOperand Q, detail::ElementwiseOperand K,
          detail::ElementwiseOperand V, detail::ElementwiseOperand... Mask>
requires(sizeof...(Mask) <= 1) constexpr auto full_attention(const Q& query, const K& key, const V& value,
                                                             const Mask&... mask) {
  using mistake = detail::rule_in<
      decltype(detail::find_attention_mistake<"full_attention", Seq, Hidden, Q, K, V, Mask...>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<Q, K, V, Mask...>);
  else
    return fn(detail::attention_along<Seq, Hidden, false>{})(query, key, value, mask...);
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
template <fixed_string Seq, fixed_string Hidden, detail::ElementwiseOperand... Xs>
requires(sizeof...(Xs) < 3) constexpr auto full_attention(const Xs&...) {  // refused
  return detail::attention_misfit<"full_attention", Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
