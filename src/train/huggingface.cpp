// The tables of names. Source: transformers, models/gpt2/modeling_gpt2.py and models/llama/modeling_llama.py
#include "napkin/train/huggingface.hpp"

namespace napkin::detail {

std::vector<weight_name> huggingface_gpt2_names() {
  const std::string_view qkv = "transformer.h.*.attn.c_attn.weight",
                         biases = "transformer.h.*.attn.c_attn.bias";
  return {{"tokens", "transformer.wte.weight", 1},
          {.ours = "positions", .theirs = "transformer.wpe.weight", .in_axes = 1, .first_rows = true},
          {"blocks.*.attention_norm.gain", "transformer.h.*.ln_1.weight"},
          {"blocks.*.attention_norm.bias", "transformer.h.*.ln_1.bias"},
          {"blocks.*.attention.query", qkv, 1, false, 0, 3},
          {"blocks.*.attention.key", qkv, 1, false, 1, 3},
          {"blocks.*.attention.value", qkv, 1, false, 2, 3},
          {"blocks.*.attention.query_bias", biases, 0, false, 0, 3},
          {"blocks.*.attention.key_bias", biases, 0, false, 1, 3},
          {"blocks.*.attention.value_bias", biases, 0, false, 2, 3},
          {"blocks.*.attention.output", "transformer.h.*.attn.c_proj.weight", 2},
          {"blocks.*.attention.output_bias", "transformer.h.*.attn.c_proj.bias"},
          {"blocks.*.mlp_norm.gain", "transformer.h.*.ln_2.weight"},
          {"blocks.*.mlp_norm.bias", "transformer.h.*.ln_2.bias"},
          {"blocks.*.mlp.up", "transformer.h.*.mlp.c_fc.weight", 1},
          {"blocks.*.mlp.up_bias", "transformer.h.*.mlp.c_fc.bias"},
          {"blocks.*.mlp.down", "transformer.h.*.mlp.c_proj.weight", 1},
          {"blocks.*.mlp.down_bias", "transformer.h.*.mlp.c_proj.bias"},
          {"norm.gain", "transformer.ln_f.weight"},
          {"norm.bias", "transformer.ln_f.bias"}};
}

std::vector<weight_name> huggingface_llama_names() {
  return {{"tokens", "model.embed_tokens.weight", 1},
          {"blocks.*.attention_norm.gain", "model.layers.*.input_layernorm.weight"},
          {"blocks.*.attention.query", "model.layers.*.self_attn.q_proj.weight", 1, true},
          {"blocks.*.attention.key", "model.layers.*.self_attn.k_proj.weight", 1, true},
          {"blocks.*.attention.value", "model.layers.*.self_attn.v_proj.weight", 1, true},
          {"blocks.*.attention.output", "model.layers.*.self_attn.o_proj.weight", 3, true},
          {"blocks.*.mlp_norm.gain", "model.layers.*.post_attention_layernorm.weight"},
          {"blocks.*.mlp.gate", "model.layers.*.mlp.gate_proj.weight", 1, true},
          {"blocks.*.mlp.up", "model.layers.*.mlp.up_proj.weight", 1, true},
          {"blocks.*.mlp.down", "model.layers.*.mlp.down_proj.weight", 1, true},
          {"norm.gain", "model.norm.weight"},
          {.ours = "head",
           .theirs = "lm_head.weight",
           .in_axes = 1,
           .transposed = true,
           .otherwise = "model.embed_tokens.weight"}};
}

}  // namespace napkin::detail
