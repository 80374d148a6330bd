// Sizes of small transformers that several tests are about.
#pragma once

#include "napkin/core/dim.hpp"

namespace napkin::testing {

/// Of two layers, for the interpreter.
struct two_layers {
  struct batch : dim<"batch", 2> {};
  struct seq : dim<"seq", 8> {};
  struct vocab : dim<"vocab", 16> {};
  struct embed : dim<"embed", 12> {};
  struct ffn : dim<"ffn", 20> {};
  struct heads : dim<"heads", 3> {};
  struct hidden : dim<"hidden", 4> {};
  static constexpr std::size_t layers = 2;
};

/// Of enough equal layers for a budget of memory to choose among.
struct five_layers {
  using batch = dim<"batch", 4>;
  using seq = dim<"seq", 24>;
  using vocab = dim<"vocab", 48>;
  using embed = dim<"embed", 32>;
  using ffn = dim<"ffn", 96>;
  using heads = dim<"heads", 2>;
  using hidden = dim<"hidden", 16>;
  static constexpr std::size_t layers = 5;
};

}  // namespace napkin::testing
