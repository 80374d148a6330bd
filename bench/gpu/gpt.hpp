// The transformers of the ladder, at the sizes of nanoGPT and of GPT-2.
#pragma once

#include "gpt_config.hpp"
#include "rung.hpp"

namespace napkin::benched {

/// GPT-2, its vocabulary padded to a multiple of 128, on windows of 1,024 tokens; on the host a dwarf of it.
template <std::size_t Layers, std::size_t Embed, std::size_t Heads, std::size_t Batch>
using gpt2 = nn::gpt<gpt_config<sized(Layers, 3), sized(Embed, 16 * Heads), Heads, sized(1024, 16),
                                sized(Batch, 2), sized(50304, 256)>>;
using gpt2_124m = gpt2<12, 768, sized(12, 2), 64>;

}  // namespace napkin::benched
