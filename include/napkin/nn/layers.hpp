// Layers: structs of parameters, whose call applies the functions of this folder. Each is a template over
// the types of its axes, and finds them in its argument by name; the others pass through. What a parameter
// begins as is set by the layer's constructor; a model may set it again in its own. mistake<X> is what is wrong
// with a call on an X: the call raises it, so that the compiler names the user's line next.
#pragma once

#include "napkin/nn/activation.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/nn/cache.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/rotary.hpp"
#include "napkin/ops/indexing.hpp"
#include "napkin/ops/reflect.hpp"

namespace napkin::nn {

/// (..., In) -> (..., Out...)
template <class In, class... Out>
struct linear {
  using checked = decltype(napkin::detail::wrong_axes<In, Out...>::raise());
  BOOST_HANA_DEFINE_STRUCT(linear, (napkin::detail::layer_param<In, Out...>, weight), (param<Out...>, bias));

  constexpr linear() { bias.initial = init::zeros(); }

  template <class X>
  using mistake = napkin::detail::product_layer_mistake<"linear", X, decltype(weight), In>;
  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>)
      return mistake<X>::raise(napkin::detail::by<X>);
    else
      return dot<In::name>(x, weight) + bias;
  }
};

/// Integers -> (..., Embed): a row of the table for each.
template <class Vocab, class Embed>
struct embedding {
  using checked = decltype(napkin::detail::wrong_axes<Vocab, Embed>::raise());
  BOOST_HANA_DEFINE_STRUCT(embedding, (napkin::detail::layer_param<Vocab, Embed>, table));

  template <class X>
  using mistake = napkin::detail::gather_mistake<"embedding", Vocab::name, decltype(table), X>;
  template <class X>
  constexpr auto operator()(const X& tokens) const {
    if constexpr (is_mistake<mistake<X>>)
      return mistake<X>::raise(napkin::detail::by<X>);
    else
      return gather<Vocab::name>(table, tokens);
  }
};

/// What a norm adds below its root. A type, as it is a number of a layer's type.
struct usual_epsilon {
  static constexpr double value = 1e-5;
};

template <class Embed, class Epsilon = usual_epsilon>
struct layer_norm {
  static constexpr double epsilon = Epsilon::value;
  BOOST_HANA_DEFINE_STRUCT(layer_norm, (param<Embed>, gain), (param<Embed>, bias));

  constexpr layer_norm() {
    gain.initial = init::ones();
    bias.initial = init::zeros();
  }

  template <class X>
  using mistake = napkin::detail::norm_layer_mistake<"layer_norm", X, Embed, param<Embed>, param<Embed>>;
  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>)
      return mistake<X>::raise(napkin::detail::by<X>);
    else
      return napkin::layer_norm<Embed::name>(x, gain, bias, epsilon);
  }
};

template <class Embed, class Epsilon = usual_epsilon>
struct rms_norm {
  static constexpr double epsilon = Epsilon::value;
  BOOST_HANA_DEFINE_STRUCT(rms_norm, (param<Embed>, gain));

  constexpr rms_norm() { gain.initial = init::ones(); }

  template <class X>
  using mistake = napkin::detail::norm_layer_mistake<"rms_norm", X, Embed, param<Embed>>;
  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>)
      return mistake<X>::raise(napkin::detail::by<X>);
    else
      return napkin::rms_norm<Embed::name>(x, gain, epsilon);
  }
};

/// GPT-2's: every head has its own keys and values; positions are not its business.
template <class Seq, class Embed, class Heads, class Hidden>
struct attention {
  BOOST_HANA_DEFINE_STRUCT(attention,  //
                           (param<Embed, Heads, Hidden>, query), (param<Heads, Hidden>, query_bias),
                           (param<Embed, Heads, Hidden>, key), (param<Heads, Hidden>, key_bias),
                           (param<Embed, Heads, Hidden>, value), (param<Heads, Hidden>, value_bias),
                           (param<Heads, Hidden, Embed>, output), (param<Embed>, output_bias));

  constexpr attention() {
    query_bias.initial = key_bias.initial = value_bias.initial = output_bias.initial = init::zeros();
  }

  template <class X>
  using mistake =
      napkin::detail::attention_layer_mistake<"attention", X, param<Embed, Heads, Hidden>, Embed, Seq>;
  template <class X>
  constexpr auto operator()(const X& x) const {  // [..., seq, embed]
    if constexpr (is_mistake<mistake<X>>) {
      return mistake<X>::raise(napkin::detail::by<X>);
    } else {
      const auto q = dot<Embed::name>(x, query) + query_bias;                 // [..., seq, heads, hidden]
      const auto k = dot<Embed::name>(x, key) + key_bias;                     // [..., seq, heads, hidden]
      const auto v = dot<Embed::name>(x, value) + value_bias;                 // [..., seq, heads, hidden]
      const auto mixed = causal_attention<Seq::name, Hidden::name>(q, k, v);  // [..., seq, heads, hidden]
      return dot<Heads::name, Hidden::name>(mixed, output) + output_bias;     // [..., seq, embed]
    }
  }
  /// The same of one position, behind those of the cache.
  template <class Cache>
  constexpr auto operator()(const auto& x, Cache& cache) const {  // [..., embed]
    const auto q = dot<Embed::name>(x, query) + query_bias;       // [..., heads, hidden]
    const auto k = dot<Embed::name>(x, key) + key_bias;           // [..., heads, hidden]
    const auto v = dot<Embed::name>(x, value) + value_bias;       // [..., heads, hidden]
    const auto mixed = detail::cached_attention<Hidden::name>(q, k, v, cache);
    return dot<Heads::name, Hidden::name>(mixed, output) + output_bias;  // [..., embed]
  }
};

/// Llama's: queries and keys turned by their positions; Group queries share each of KvHeads keys and values.
template <class Seq, class Embed, class KvHeads, class Group, class Hidden, std::size_t RotaryBase = 10000>
struct grouped_attention {
  BOOST_HANA_DEFINE_STRUCT(grouped_attention,  //
                           (param<Embed, KvHeads, Group, Hidden>, query),
                           (param<Embed, KvHeads, Hidden>, key), (param<Embed, KvHeads, Hidden>, value),
                           (param<KvHeads, Group, Hidden, Embed>, output));

  template <class X>
  using mistake = napkin::detail::attention_layer_mistake<"grouped_attention", X,
                                                          param<Embed, KvHeads, Group, Hidden>, Embed, Seq>;
  template <class X>
  constexpr auto operator()(const X& x) const {  // [..., seq, embed]
    if constexpr (is_mistake<mistake<X>>) {
      return mistake<X>::raise(napkin::detail::by<X>);
    } else {
      const auto turn = [](const auto& y) { return rotary<Seq::name, Hidden::name, RotaryBase>(y); };
      const auto q = turn(dot<Embed::name>(x, query));  // [..., seq, kv_heads, group, hidden]
      const auto k = turn(dot<Embed::name>(x, key));    // [..., seq, kv_heads, hidden]
      const auto v = dot<Embed::name>(x, value);        // [..., seq, kv_heads, hidden]
      const auto mixed =
          causal_attention<Seq::name, Hidden::name>(q, k, v);  // [..., seq, kv_heads, group, hidden]
      return dot<KvHeads::name, Group::name, Hidden::name>(mixed, output);  // [..., seq, embed]
    }
  }
  /// The same of one position, behind those of the cache.
  template <class Cache>
  constexpr auto operator()(const auto& x, Cache& cache) const {  // [..., embed]
    const auto turn = [&](const auto& y) { return detail::rotary_at<Hidden::name, RotaryBase>(y, cache); };
    const auto q = turn(dot<Embed::name>(x, query));  // [..., kv_heads, group, hidden]
    const auto k = turn(dot<Embed::name>(x, key));    // [..., kv_heads, hidden]
    const auto v = dot<Embed::name>(x, value);        // [..., kv_heads, hidden]
    const auto mixed = detail::cached_attention<Hidden::name>(q, k, v, cache);
    return dot<KvHeads::name, Group::name, Hidden::name>(mixed, output);  // [..., embed]
  }
};

/// Embed -> Ffn -> Embed with a GELU between.
template <class Embed, class Ffn>
struct mlp {
  using checked = decltype(napkin::detail::wrong_axes<Embed, Ffn>::raise());
  BOOST_HANA_DEFINE_STRUCT(mlp, (napkin::detail::layer_param<Embed, Ffn>, up), (param<Ffn>, up_bias),
                           (napkin::detail::layer_param<Ffn, Embed>, down), (param<Embed>, down_bias));

  constexpr mlp() { up_bias.initial = down_bias.initial = init::zeros(); }

  template <class X>
  using mistake = napkin::detail::product_layer_mistake<"mlp", X, decltype(up), Embed>;
  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>) {
      return mistake<X>::raise(napkin::detail::by<X>);
    } else {
      const auto h = gelu(dot<Embed::name>(x, up) + up_bias);  // [..., ffn]
      return dot<Ffn::name>(h, down) + down_bias;              // [..., embed]
    }
  }
};

/// Embed -> Ffn -> Embed, one of two ways gating the other.
template <class Embed, class Ffn>
struct swiglu_mlp {
  using checked = decltype(napkin::detail::wrong_axes<Embed, Ffn>::raise());
  BOOST_HANA_DEFINE_STRUCT(swiglu_mlp, (napkin::detail::layer_param<Embed, Ffn>, gate),
                           (napkin::detail::layer_param<Embed, Ffn>, up),
                           (napkin::detail::layer_param<Ffn, Embed>, down));

  template <class X>
  using mistake = napkin::detail::product_layer_mistake<"swiglu_mlp", X, decltype(up), Embed>;
  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>) {
      return mistake<X>::raise(napkin::detail::by<X>);
    } else {
      const auto h = swiglu(dot<Embed::name>(x, gate), dot<Embed::name>(x, up));  // [..., ffn]
      return dot<Ffn::name>(h, down);                                             // [..., embed]
    }
  }
};

/// The residual block of both families: each part reads a normalised stream and adds to it.
template <class Norm, class Attention, class Mlp>
struct block {
  BOOST_HANA_DEFINE_STRUCT(block, (Norm, attention_norm), (Attention, attention), (Norm, mlp_norm),
                           (Mlp, mlp));

  template <class X>
  using mistake = napkin::detail::mistake_of_layers<X, Norm, Attention, Mlp>;
  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>) {
      return mistake<X>::raise(napkin::detail::by<X>);
    } else {
      const auto h = x + attention(attention_norm(x));
      return h + mlp(mlp_norm(h));
    }
  }
  /// The same of one position, behind those of the cache.
  template <class Cache>
  constexpr auto operator()(const auto& x, Cache& cache) const {
    const auto h = x + attention(attention_norm(x), cache);
    return h + mlp(mlp_norm(h));
  }
  /// What the two matrices that add to the stream begin as.
  constexpr void set_residual(init i) { attention.output.initial = mlp.down.initial = i; }
};

}  // namespace napkin::nn
