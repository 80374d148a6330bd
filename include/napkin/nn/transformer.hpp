// Two language models, GPT-2's and Llama's, over the axes that a Config names: batch, seq, vocab, embed, ffn,
// hidden, the heads, and the number of layers.
#pragma once

#include "napkin/nn/layers.hpp"
#include "napkin/nn/loss.hpp"

namespace napkin::nn {

namespace detail {

template <class Blocks>
constexpr void scale_residuals(Blocks& blocks) {
  for (auto& block : blocks) block.set_residual(init::residual(blocks.size()));
}

/// x after every block. All are of one type, so that twelve compile like one.
template <class Blocks, class X, class... Cache>
constexpr X through(const Blocks& blocks, X x, Cache&... cache) {
  for (const auto& block : blocks) x = block(x, cache...);
  return x;
}

/// What a Config may say beyond its axes, and what holds where it does not.
template <class Config>
struct norm_epsilon_of {
  using type = usual_epsilon;
};
template <class Config>
requires requires { Config::norm_epsilon; }
struct norm_epsilon_of<Config> {
  struct type {
    static constexpr double value = Config::norm_epsilon;
  };
};
template <class Config>
constexpr std::size_t find_rotary_base() {
  if constexpr (requires { Config::rotary_base; })
    return Config::rotary_base;
  else
    return 10000;
}
template <class Config>
struct token_of {
  using type = u16;
};
template <class Config>
requires requires { typename Config::token; }
struct token_of<Config> {
  using type = typename Config::token;
};

}  // namespace detail

/// GPT-2: learned positions, layer norm before each part, GELU, biases everywhere, the head tied to the
/// embedding.
///
/// Config  axes batch, seq, vocab, embed, heads, hidden, ffn; static constexpr std::size_t layers; may have
///         static constexpr double norm_epsilon (1e-5) and the type token (u16)
/// Source  Radford et al. 2019
template <class Config>
struct gpt {
  using batch = typename Config::batch;
  using seq = typename Config::seq;
  using vocab = typename Config::vocab;
  using embed = typename Config::embed;
  using token = typename detail::token_of<Config>::type;
  using norm_layer = layer_norm<embed, typename detail::norm_epsilon_of<Config>::type>;
  using block_layer =
      block<norm_layer, attention<seq, embed, typename Config::heads, typename Config::hidden>,
            mlp<embed, typename Config::ffn>>;
  using block_layers = std::array<block_layer, Config::layers>;

  BOOST_HANA_DEFINE_STRUCT(gpt, (param<vocab, embed>, tokens), (param<seq, embed>, positions),
                           (block_layers, blocks), (norm_layer, norm));

  constexpr gpt() { detail::scale_residuals(blocks); }

  /// (batch, seq, vocab), for the token that follows each.
  constexpr auto logits(input<token, batch, seq> text) const {
    const auto embedded = gather<vocab::name>(tokens, text) + positions;  // [batch, seq, embed]
    return dot<embed::name>(norm(detail::through(blocks, embedded)), tokens);
  }
  /// (batch, vocab), for the token that follows one, behind those of the cache (nn/cache.hpp).
  template <class Cache>
  constexpr auto logits_at(input<token, batch> text, Cache& cache) const {
    const auto position = gather<seq::name>(positions, cache.position);  // [batch, embed]
    const auto embedded = gather<vocab::name>(tokens, text) + position;  // [batch, embed]
    return dot<embed::name>(norm(detail::through(blocks, embedded, cache)), tokens);
  }
  /// In nats a token.
  constexpr auto loss(input<token, batch, seq> text, input<token, batch, seq> targets) const {
    return cross_entropy<vocab::name>(logits(text), targets);
  }
};

/// Llama: rotary positions, RMS norm before each part, grouped queries, SwiGLU, no bias, a head of its own.
///
/// Config  axes batch, seq, vocab, embed, kv_heads, group, hidden, ffn; static constexpr std::size_t layers;
///         may have static constexpr double norm_epsilon (1e-5), std::size_t rotary_base (10000), and the
///         type token (u16)
/// Source  Touvron et al. 2023
template <class Config>
struct llama {
  using batch = typename Config::batch;
  using seq = typename Config::seq;
  using vocab = typename Config::vocab;
  using embed = typename Config::embed;
  using token = typename detail::token_of<Config>::type;
  static constexpr std::size_t rotary_base = detail::find_rotary_base<Config>();
  using norm_layer = rms_norm<embed, typename detail::norm_epsilon_of<Config>::type>;
  using block_layer = block<norm_layer,
                            grouped_attention<seq, embed, typename Config::kv_heads, typename Config::group,
                                              typename Config::hidden, rotary_base>,
                            swiglu_mlp<embed, typename Config::ffn>>;
  using block_layers = std::array<block_layer, Config::layers>;

  BOOST_HANA_DEFINE_STRUCT(llama, (param<vocab, embed>, tokens), (block_layers, blocks), (norm_layer, norm),
                           (param<embed, vocab>, head));

  constexpr llama() { detail::scale_residuals(blocks); }

  /// (batch, seq, vocab), for the token that follows each.
  constexpr auto logits(input<token, batch, seq> text) const {
    const auto embedded = gather<vocab::name>(tokens, text);  // [batch, seq, embed]
    return dot<embed::name>(norm(detail::through(blocks, embedded)), head);
  }
  /// (batch, vocab), for the token that follows one, behind those of the cache (nn/cache.hpp).
  template <class Cache>
  constexpr auto logits_at(input<token, batch> text, Cache& cache) const {
    const auto embedded = gather<vocab::name>(tokens, text);  // [batch, embed]
    return dot<embed::name>(norm(detail::through(blocks, embedded, cache)), head);
  }
  /// In nats a token.
  constexpr auto loss(input<token, batch, seq> text, input<token, batch, seq> targets) const {
    return cross_entropy<vocab::name>(logits(text), targets);
  }
};

}  // namespace napkin::nn
