// Choices as if the clock had preferred products within the kernels that read them.
#pragma once

#include <string>
#include <string_view>

#include "napkin/cuda/blas_choices.hpp"

namespace napkin::testing {

/// Each pair of product and kernel that was timed.
inline void take_all(on_cuda::blas_choices& choices) {
  const std::string text = choices.text();
  on_cuda::blas_algorithm way;
  way.left = on_cuda::apart::product;
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t then = line.find(" then kernel ");
    if (then == line.npos) continue;
    choices.set(std::string(line.substr(0, line.find('\t', then))), way);
  }
}

}  // namespace napkin::testing
