// The two models of tests/parity/generate.py.
#pragma once

#include "napkin/nn/transformer.hpp"

namespace napkin::testing {

struct parity_config {
  struct batch : dim<"batch", 4> {};
  struct seq : dim<"seq", 16> {};
  struct vocab : dim<"vocab", 64> {};
  struct embed : dim<"embed", 24> {};
  static constexpr std::size_t layers = 2;
};
struct parity_gpt_config : parity_config {
  struct heads : dim<"heads", 3> {};
  struct hidden : dim<"hidden", 8> {};
  struct ffn : dim<"ffn", 96> {};
};
struct parity_llama_config : parity_config {
  struct kv_heads : dim<"kv_heads", 2> {};
  struct group : dim<"group", 2> {};
  struct hidden : dim<"hidden", 6> {};
  struct ffn : dim<"ffn", 64> {};
};
using parity_gpt = nn::gpt<parity_gpt_config>;
using parity_llama = nn::llama<parity_llama_config>;

}  // namespace napkin::testing
