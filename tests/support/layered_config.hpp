// A small GPT with any number of layers, for tests of what a plan of few layers says of many.
#pragma once

#include <cstddef>

#include "napkin/core/dim.hpp"

namespace napkin::testing {

template <std::size_t Layers>
struct layered_config {
  struct batch : dim<"batch", 2> {};
  struct seq : dim<"seq", 128> {};
  struct vocab : dim<"vocab", 40> {};
  struct embed : dim<"embed", 32> {};
  struct ffn : dim<"ffn", 48> {};
  struct heads : dim<"heads", 2> {};
  struct hidden : dim<"hidden", 16> {};
  static constexpr std::size_t layers = Layers;
};

}  // namespace napkin::testing
