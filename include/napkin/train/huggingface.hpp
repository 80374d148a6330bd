// Where the parameters of nn::gpt and nn::llama stand in the files of Hugging Face's GPT2LMHeadModel and
// LlamaForCausalLM, and what their config.json must say.
#pragma once

#include <cstdio>
#include <string>

#include "napkin/nn/transformer.hpp"
#include "napkin/train/pretrained.hpp"

namespace napkin {

namespace detail {

std::vector<weight_name> huggingface_gpt2_names();
std::vector<weight_name> huggingface_llama_names();

inline config_fact number_fact(const char* key, double value, bool checked = false, const char* unsaid = "") {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return {key, text, checked, unsaid};
}

}  // namespace detail

/// GPT-2, of 1.5 B parameters or fewer. Its matrices lie as here (Conv1D: rows in, columns out), queries,
/// keys and values side by side. Of its positions the model's first are taken.
template <class Config>
struct pretrained<nn::gpt<Config>> {
  static weight_map map() {
    using detail::number_fact;
    using model = nn::gpt<Config>;
    weight_map m{detail::huggingface_gpt2_names(),
                 "transformer.",
                 {"transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"},
                 "lm_head.weight",
                 "transformer.wte.weight",
                 {}};
    m.config = {{"model_type", "\"gpt2\"", true},
                {"architectures", "[\"GPT2LMHeadModel\"]"},
                number_fact("vocab_size", model::vocab::size),
                number_fact("n_positions", model::seq::size),
                number_fact("n_embd", model::embed::size),
                number_fact("n_layer", Config::layers),
                number_fact("n_inner", Config::ffn::size),
                number_fact("n_head", Config::heads::size, true, "12"),
                number_fact("layer_norm_epsilon", model::norm_layer::epsilon, true, "1e-5"),
                {"activation_function", "\"gelu_new\"", true, "\"gelu_new\""},
                {"scale_attn_weights", "true", true, "true"},
                {"scale_attn_by_inverse_layer_idx", "false", true, "false"},
                {"add_cross_attention", "false", true, "false"},
                {"tie_word_embeddings", "true", true, "true"}};
    return m;
  }
};

/// Llama 1 to 3 without scaled rotary positions. Its matrices lie transposed (Linear: rows out, columns in);
/// the halves of a head are paired by rotary as here, queries that share keys lie side by side as here. A
/// file whose head is tied to the embedding is read, and the two then learn apart.
template <class Config>
struct pretrained<nn::llama<Config>> {
  static weight_map map() {
    using detail::number_fact;
    using model = nn::llama<Config>;
    weight_map m{detail::huggingface_llama_names(),
                 "model.",
                 {"model.layers.*.self_attn.rotary_emb.inv_freq"},
                 {},
                 {},
                 {}};
    m.config = {{"model_type", "\"llama\"", true},
                {"architectures", "[\"LlamaForCausalLM\"]"},
                number_fact("vocab_size", model::vocab::size),
                number_fact("max_position_embeddings", model::seq::size),
                number_fact("hidden_size", model::embed::size),
                number_fact("num_hidden_layers", Config::layers),
                number_fact("intermediate_size", Config::ffn::size),
                number_fact("num_attention_heads", Config::kv_heads::size * Config::group::size, true, "32"),
                number_fact("num_key_value_heads", Config::kv_heads::size, true),
                number_fact("head_dim", Config::hidden::size, true),
                number_fact("rms_norm_eps", model::norm_layer::epsilon, true, "1e-6"),
                number_fact("rope_theta|rope_parameters.rope_theta", model::rotary_base, true, "10000"),
                {"rope_parameters.rope_type|rope_scaling.rope_type|rope_scaling.type", "\"default\"", true,
                 "\"default\""},
                {"hidden_act", "\"silu\"", true, "\"silu\""},
                {"attention_bias", "false", true, "false"},
                {"mlp_bias", "false", true, "false"},
                {"tie_word_embeddings", "false"}};
    return m;
  }
};

}  // namespace napkin
