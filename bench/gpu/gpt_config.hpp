// The axes of GPT-2's shape (nn::gpt) at any size.
#pragma once

#include <napkin/nn/transformer.hpp>

namespace napkin::benched {

template <std::size_t Layers, std::size_t Embed, std::size_t Heads, std::size_t Seq, std::size_t Batch,
          std::size_t Vocab>
struct gpt_config {
  struct batch : dim<"batch", Batch> {};
  struct seq : dim<"seq", Seq> {};
  struct vocab : dim<"vocab", Vocab> {};
  struct embed : dim<"embed", Embed> {};
  struct ffn : dim<"ffn", 4 * Embed> {};
  struct heads : dim<"heads", Heads> {};
  struct hidden : dim<"hidden", Embed / Heads> {};
  static constexpr std::size_t layers = Layers;
};

}  // namespace napkin::benched
