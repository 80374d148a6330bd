// Where a parameter of a model lies, under its name: what training hands to files.
#pragma once

#include <cstddef>
#include <string_view>

#include "napkin/graph/graph.hpp"

namespace napkin {

/// A parameter, or a state that belongs to it, where it lies.
struct named_memory {
  std::string_view name;
  shape sizes;
  float* data = nullptr;
  std::size_t count = 0;  // elements
};

}  // namespace napkin
