// One position of a sequence at a time, as text is written: attention reads the keys and values of the
// positions before from a cache instead of computing them again. What runs such a graph is train/reader.hpp.
#pragma once

#include "napkin/core/math.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/nn/rotary.hpp"

namespace napkin::nn {

/// What a model is handed while its graph of one position is traced: where that is, and its cache, which is
/// inputs of the graph, all positions of keys and values, and outputs, those of this one, in the same order.
template <class Seq, class Batch>
struct key_value_cache {
  using seq = Seq;
  using batch = Batch;

  traced<i32, Batch> position;     // from 0 on
  std::int32_t next_slot;          // of the graph's inputs
  buffer<std::int32_t> made = {};  // the nodes that go into the cache

  /// All positions of what x is of one: (...) -> (seq, ...). Those from this position on are not to be read.
  template <class X>
  constexpr auto earlier(const X& x) {
    using cached = napkin::detail::joined_axes<axes<Seq>, axes_of<X>>;
    using T = typename X::element;
    builder& b = *position.graph;
    made.push_back(napkin::detail::node_of(b, x));
    const int id = b.input(next_slot++, dtype_of<T>, napkin::detail::shape_over<cached>);
    return typename napkin::detail::traced_of<T, cached>::type(&b, id);
  }
};

namespace detail {

/// Rotary positions of one position.
template <fixed_string Hidden, std::size_t Base, class X, class Cache>
constexpr auto rotary_at(const X& x, const Cache& cache) {
  using A = accumulator_type<typename X::element>;
  const auto frequency = napkin::detail::rotary_frequency<Hidden, Base>(x);  // [pair]
  return napkin::detail::turned_by<Hidden>(x, outer(cast<A>(cache.position), frequency));
}

/// causal_attention of one position over those before, which the cache has, and itself: a softmax over the
/// scores of both. (..., hidden) -> the same.
template <fixed_string Hidden, class Q, class K, class V, class Cache>
constexpr auto cached_attention(const Q& q, const K& k, const V& v, Cache& cache) {
  using seq = typename Cache::seq;
  using named = napkin::detail::named_axes<axes_of<Q>, Hidden>;
  using heads = typename napkin::detail::chosen_axes<axes_of<Q>, named>::rest;
  using scored = napkin::detail::joined_axes<heads, axes<seq>>;
  using places = axes<typename Cache::batch, seq>;
  using napkin::detail::contract;
  const double scale = 1 / math::sqrt(static_cast<double>(named::template at<0>::size));

  const auto keys = cache.earlier(k), values = cache.earlier(v);  // [seq, ..., hidden]
  const auto before = napkin::apply<napkin::detail::iota_op<places, 1>, i32, places>(q) < cache.position;
  const auto scores = contract<scored>(q, keys);  // [..., seq]
  const auto seen = where(before, scores * number_like(scores, scale), number_like(scores, -1e30));
  const auto own = contract<heads>(q, k) * number_like(scores, scale);  // [...]
  const auto largest = maximum(max<seq::name>(seen), own);              // [...]
  const auto weights = exp(seen - largest);                             // [..., seq]
  const auto weight = exp(own - largest);                               // [...]
  const auto mixed = contract<axes_of<Q>>(weights, values) + contract<axes_of<Q>>(weight, v);
  return mixed / (sum<seq::name>(weights) + weight);  // [..., hidden]
}

}  // namespace detail

}  // namespace napkin::nn
